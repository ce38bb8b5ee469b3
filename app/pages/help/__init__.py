"""The help as a page of the window."""
