"""From files to token ids, no torch."""
