"""Texts to token ids: WordPiece, byte-level BPE and Unigram vocabularies. No torch."""
