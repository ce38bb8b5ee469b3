"""Pictures of predictions, of which each selects rows; a task names those that it has."""
