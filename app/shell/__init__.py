"""What starts, claims and ends the program."""
