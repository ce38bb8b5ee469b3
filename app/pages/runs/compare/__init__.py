"""Several runs side by side: curves, settings, scores, and pictures of any columns."""
