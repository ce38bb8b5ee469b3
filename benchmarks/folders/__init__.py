"""Checkpoint folders that libraries write, read as they say or refused by name."""
