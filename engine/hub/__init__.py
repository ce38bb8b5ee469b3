"""Models from other sources: the shelf, the hub, archives, folders used in place; no torch."""
