"""Tokenizers: WordPiece, byte-level BPE and Unigram vocabularies. No torch."""
