"""A task that the program does not have, with its own files."""
