"""One model: its parts, its vocabulary, its tokenizer, its card."""
