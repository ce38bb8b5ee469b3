"""Networks as described in their papers, and their checkpoints. Uses torch."""
