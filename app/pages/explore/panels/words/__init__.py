"""Words: what the model predicts at masked positions."""
