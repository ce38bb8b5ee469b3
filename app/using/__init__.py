"""What a fine-tuned model is for: tried on a text, applied to a file, used elsewhere."""
