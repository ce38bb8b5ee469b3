"""Attention: the wall of all heads, and one head as lines, matrix and table."""
