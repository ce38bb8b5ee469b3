"""Data page: add, check, inspect and delete data sets."""
