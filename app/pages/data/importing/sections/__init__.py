"""The choices of an import, a file for each group of controls."""
