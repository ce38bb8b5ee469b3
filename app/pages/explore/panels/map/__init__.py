"""Many texts as points: which are alike for the model, and whether labels are apart."""
