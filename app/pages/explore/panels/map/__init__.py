"""Many texts as points, with the separation of their labels."""
