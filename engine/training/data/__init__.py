"""What a run reads: token ids, batches, cached features."""
