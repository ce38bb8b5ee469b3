"""Statistics of every head over many texts."""
