"""Fast ways through the network, held equal to the plain ones: no padding, no needless work."""
