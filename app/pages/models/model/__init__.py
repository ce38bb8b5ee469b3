"""Page of one model: parts, vocabulary, tokenizer, card."""
