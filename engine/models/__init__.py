"""Networks, readable beside the paper, and checkpoints of them. Torch."""
