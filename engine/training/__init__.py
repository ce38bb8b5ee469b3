"""Training: from a job to a trained network. Uses torch."""
