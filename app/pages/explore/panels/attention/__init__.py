"""Attention: a grid of all heads, and chosen heads as lines, matrix and table."""
