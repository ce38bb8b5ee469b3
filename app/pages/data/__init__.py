"""Add, check, look into and delete data sets."""
