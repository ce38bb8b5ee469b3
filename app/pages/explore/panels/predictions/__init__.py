"""Answers: what a fine-tuned model says of the text."""
