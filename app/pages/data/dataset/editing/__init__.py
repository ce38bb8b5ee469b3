"""Correcting and labelling rows: edits wait in a bar until they become the next version."""
