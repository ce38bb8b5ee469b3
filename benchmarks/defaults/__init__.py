"""Measurements behind the recommended settings: see README.md.

measure  make the runs of plan.py that are not in the results yet
table    every grid, and the loss of the recommended values
"""

from benchmarks import harness


def main(arguments: list[str]) -> None:
    from benchmarks.defaults import measure, table

    parts = {"measure": measure.main, "table": table.main}
    harness.run_part("defaults", __doc__, parts, arguments)
