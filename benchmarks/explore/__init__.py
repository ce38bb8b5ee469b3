"""Response times of Explore."""
