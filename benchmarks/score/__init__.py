"""Time until a fine-tuned network has the score of the full recipe."""
