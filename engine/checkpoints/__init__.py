"""Checkpoint folders as they are published: families, config.json, heads, TF1. No torch."""
