"""Data sets of a home: immutable versions, their rows and splits."""
