"""Checkpoint folders as they are published: families, config.json, heads, Google's TF1 files. No torch."""
