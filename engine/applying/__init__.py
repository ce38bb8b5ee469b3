"""A fine-tuned model applied to a file of any length: in chunks, kept until the result is whole."""
