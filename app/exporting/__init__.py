"""Export of a checkpoint, from wherever one is shown."""
