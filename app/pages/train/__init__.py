"""The wizard: from a task to a job that starts."""
