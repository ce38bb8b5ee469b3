"""What the user prefers, and what the program is made of."""
