"""Explore: the workbench. One text, one model, one selection; panels that look at them."""
