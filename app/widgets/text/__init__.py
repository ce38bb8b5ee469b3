"""Widgets and functions for text: labels, numbers, names of runs and settings in words."""
