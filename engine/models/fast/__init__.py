"""Fast equivalents of the plain network: no padding, no unneeded work."""
