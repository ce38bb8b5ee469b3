"""Many texts: their losses, and the selection that other panels use."""
