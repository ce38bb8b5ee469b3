"""Run folders: job in, events and checkpoints out. Never torch."""
