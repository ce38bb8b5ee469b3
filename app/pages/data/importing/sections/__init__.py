"""Controls of an import, a file for each group."""
