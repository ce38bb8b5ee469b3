"""Start, single instance and end of the program."""
