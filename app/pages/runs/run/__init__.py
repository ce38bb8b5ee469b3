"""The page of one run: curves, checkpoints, details, log, reproducibility."""
