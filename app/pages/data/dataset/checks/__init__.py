"""What the checks find in the rows of a data set, and their fixes."""
