"""The file of an answer about attention, also while it is being written.

Shapes: L layers, H heads, T tokens.
"""

import mmap
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from engine.messages.explore.attention import Attended

T = TypeVar("T")


def opened(answer: Attended) -> np.ndarray:
    """float32 [L, H, T, T], mapped from the file; of an early answer the layers that are there.

    Raises FileNotFoundError where newer answers have replaced it.
    """
    with open(answer.weights.path, "rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        start = file.tell()
    there = shape[0] if answer.layers is None else answer.layers
    return np.memmap(answer.weights.path, dtype, "r", start, (there, *shape[1:]))


def read_through(work: Callable[[np.ndarray], T], weights: np.ndarray) -> T:
    """What `work` makes of such a file, or of a part of it, and no more of it is held in memory
    afterwards. Whoever reads it again has it from the system's cache."""
    made = work(weights)
    mapped = getattr(weights, "_mmap", None)
    if mapped is not None and hasattr(mapped, "madvise"):  # not on Windows
        mapped.madvise(mmap.MADV_DONTNEED)
    return made
