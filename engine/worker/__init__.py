"""The programs that do the work: one for a run, one that answers questions."""

import os

SPINS = "10000"  # some 20 µs: longer than between two small operations, shorter than a time slice


def share_the_processor() -> None:
    """Call before torch is loaded: its threads wait for one another only briefly by spinning.

    As it comes, GNU OpenMP spins for milliseconds. Beside one other busy program, two threads then
    take turns in waiting for each other, and a training becomes twenty to a hundred times slower.
    What the user has set for OpenMP stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
