"""All that is not the window. Never Qt."""
