"""Models page: import, inspect and export checkpoints."""
