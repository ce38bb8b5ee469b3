"""Explore: the workbench. One text, one model, one selection; panels that show them."""
