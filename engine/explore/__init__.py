"""Queries of a checkpoint: predictions, attention, attributions. Each answer is a function of the
question."""
