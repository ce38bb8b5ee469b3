"""Which words a prediction comes from, how far that can be trusted, and what edits change."""
