"""What is written about a model for people: code that uses it, its card, the report of its run."""
