"""The shrink bench: smaller models that learn from a fine-tuned one, measured against it."""
