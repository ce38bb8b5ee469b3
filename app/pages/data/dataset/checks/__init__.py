"""Findings of the checks of a data set, with fixes."""
