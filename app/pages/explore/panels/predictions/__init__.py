"""Predictions of a fine-tuned model."""
