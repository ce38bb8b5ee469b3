"""Token ids in one memory-mapped file: tokenized examples, pairs of sentences, windows."""
