"""Worker programs: one trains a run, others answer questions."""

import ctypes
import os
import sys

FAILED, BUG = 1, 3  # exit codes: an error of the user, or a bug
ARENA_MAX = -8  # M_ARENA_MAX of mallopt(3)
SPINS = "10000"  # about 20 µs: more than between two small operations, less than a time slice


def configure_threads() -> None:
    """Configure OpenMP and the allocator for a shared machine; call before torch is loaded."""
    _limit_spinning()
    _use_one_arena()


def _limit_spinning() -> None:
    """Limit the spinning of OpenMP threads that wait for one another.

    By default GNU OpenMP spins for milliseconds. Next to one other busy program, the threads then
    wait for each other in turn, and training becomes 20 to 100 times slower. The user's own
    settings for OpenMP are respected.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)


def _use_one_arena() -> None:
    """Let all threads allocate from one heap instead of glibc's arena per thread.

    Memory freed by one thread can then be reused by another, which saves a tenth in training with
    two threads. Tokenizer threads, which mostly allocate, would block each other, so tokenisation
    uses a single thread. The user's own settings are respected.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # missing in other C libraries
        if mallopt is not None:
            mallopt(ARENA_MAX, 1)
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
