"""Networks for inference: the same weights, packed for fast matrix products."""
