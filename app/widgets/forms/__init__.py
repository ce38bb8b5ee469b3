"""Controls and forms."""
