"""Metrics and reports of predictions, without torch."""
