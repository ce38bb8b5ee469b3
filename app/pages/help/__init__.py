"""Help page."""
