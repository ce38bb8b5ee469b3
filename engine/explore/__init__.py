"""Queries of a checkpoint: predictions, attention, attributions. Each answer depends only on
the question."""
