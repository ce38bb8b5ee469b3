"""What the second model has that the first has not, on many texts."""
