"""Pictures of predictions that select rows; each task lists its own."""
