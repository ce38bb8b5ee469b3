"""The file of an answer about attention, also while it is being written.

Shapes: L layers, H heads, T tokens.
"""

import numpy as np

from engine.messages.explore.attention import Attended


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
