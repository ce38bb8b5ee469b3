"""How it is learned. Torch, over the tasks."""
