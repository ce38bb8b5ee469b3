"""Lineage of data, models and runs as a graph."""
