"""Published checkpoint folders: families, config.json, heads, TF1. No torch."""
