"""The programs that do the work: one for a run, one that answers questions."""

import ctypes
import os
import sys

FAILED, BUG = 1, 3  # exit codes: what the user gave, or the program, is to blame
ARENA_MAX = -8  # M_ARENA_MAX of mallopt(3)
SPINS = "10000"  # some 20 µs: longer than between two small operations, shorter than a time slice


def share_the_machine() -> None:
    """Call before torch is loaded, so that its threads get on with one another and with others."""
    _wait_briefly()
    _share_the_memory()


def _wait_briefly() -> None:
    """Let threads wait for one another only briefly by spinning.

    As it comes, GNU OpenMP spins for milliseconds. Beside one other busy program, two threads then
    take turns in waiting for each other, and a training becomes twenty to a hundred times slower.
    What the user has set for OpenMP stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)


def _share_the_memory() -> None:
    """Let all threads take memory from one heap, where glibc has one for each.

    What one thread gives back another can then use: training by two threads takes a tenth less.
    Threads that do little but take and give back memory, as those that tokenise, would wait for one
    another: two take longer than one, which therefore does it alone. What the user has set stays.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries have none
        if mallopt is not None:
            mallopt(ARENA_MAX, 1)
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
