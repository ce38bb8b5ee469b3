"""Freed memory of this process: kept for reuse, or returned to the system."""

import ctypes
import sys
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)
FREED_BYTES = 2**27  # bytes
REUSED = 2**25  # bytes of the largest block; more is mapped and unmapped


def keep_freed_memory() -> None:
    """Let glibc keep up to 128 MB of freed memory, until `trim_memory`.

    By default the heap shrinks after each large layer and grows again for the next one, which took
    a seventh of the time of predicting short texts in int8.
    """
    if mallopt := _of_glibc("mallopt"):
        mallopt(MMAP_THRESHOLD, REUSED)
        mallopt(TRIM_THRESHOLD, FREED_BYTES)


def trim_memory() -> None:
    """Trim the heap of glibc.

    Tensors of varying sizes fragment it: predicting 10,000 rows kept about 250 MB.
    """
    if trim := _of_glibc("malloc_trim"):
        trim(0)


def _of_glibc(name: str) -> Any:
    """A function of the C library; None if it is missing, as in other C libraries."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
