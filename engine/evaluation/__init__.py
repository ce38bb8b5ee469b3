"""Predictions into figures, no torch."""
