"""Self-test of all computations on a device of this machine, with a report to send."""
