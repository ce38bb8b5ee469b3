"""Explore, a file for each subject: what is asked about a text and a model, and the answer."""
