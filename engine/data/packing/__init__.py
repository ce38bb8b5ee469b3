"""Token ids in one memory-mapped file: packed examples, pairs of sentences, windows."""
