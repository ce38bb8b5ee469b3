"""Predictions of a model, measured and listed, on every page that shows a trained model."""
