"""Rows are corrected and labelled: edits wait in a bar until they become the next version."""
