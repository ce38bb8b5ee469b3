"""Words: what the model expects at hidden places."""
