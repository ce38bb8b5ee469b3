"""Training speed against transformers, and the limit of the machine."""
