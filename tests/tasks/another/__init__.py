"""A task that the program does not have: its files, as they would stand in the packages."""
