"""Which combination of values is tried next, and which field mattered; by Optuna, in workers."""
