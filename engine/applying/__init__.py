"""Apply a fine-tuned model to a file of any length, in resumable chunks."""
