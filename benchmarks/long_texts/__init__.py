"""Long texts, read in windows."""
