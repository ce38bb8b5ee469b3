"""Input of a run: tokenized examples, batches, cached features."""
