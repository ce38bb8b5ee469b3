"""Data sets: immutable versions with rows and splits."""
