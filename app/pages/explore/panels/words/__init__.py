"""Predictions of the model at masked positions."""
