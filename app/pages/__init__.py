"""One folder for each screen of the window; no page knows another."""
