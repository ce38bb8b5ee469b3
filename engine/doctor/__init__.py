"""A check of all that is computed, on a device of this machine, and a report of it to send."""
