"""Stored predictions of models: their metrics, comparisons, groups, slices and label errors."""
