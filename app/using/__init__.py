"""Use of a fine-tuned model: try it on a text, apply it to a file, deploy it."""
