"""What is asked of a checkpoint: predictions, attention. An answer is a function of a question."""
