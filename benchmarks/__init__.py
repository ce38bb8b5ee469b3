"""Benchmarks of the program: `python -m benchmarks` lists the cases."""
