"""Explore a model over its training: a bar with the loss curve as a slider."""
