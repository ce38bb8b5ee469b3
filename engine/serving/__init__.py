"""Inference: the same weights, packed for fast matrix products."""
