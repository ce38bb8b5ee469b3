"""Import, look into and export checkpoints."""
