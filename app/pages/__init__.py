"""One folder for each page of the window; no page imports another."""
