"""Classes: which class a fine-tuned model gives the text."""
