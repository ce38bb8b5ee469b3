"""Models from elsewhere: the shelf, the hub, archives, folders used in place; no torch."""
