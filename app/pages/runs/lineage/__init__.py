"""What was made from what: one picture that can be walked."""
