"""Small files that tools write, read as they mean or refused by name."""
