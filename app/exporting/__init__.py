"""Export of a checkpoint."""
