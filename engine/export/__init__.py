"""A checkpoint in other forms; each is loaded again in a clean process before it is done."""
