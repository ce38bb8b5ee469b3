"""Ways to train a classifier of few rows, compared."""
