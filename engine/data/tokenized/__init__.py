"""Tokenized inputs in memory-mapped files: examples, streams, sentence pairs, windows."""
