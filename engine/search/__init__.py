"""Hyperparameter search with Optuna, in workers."""
