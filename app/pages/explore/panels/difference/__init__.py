"""Difference of two models on many texts."""
