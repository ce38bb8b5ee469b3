"""How a batch is cut into parts with little padding."""

import numpy as np
from numpy.typing import NDArray

STEP = 8  # widths are multiples of it: few shapes, and the processor likes eights
COST = 128  # tokens that take as long as what every further part costs by itself


def width_of(length: int) -> int:
    """The width of a rectangle whose longest row has so many tokens."""
    return -(-length // STEP) * STEP


def parts_of(lengths: NDArray[np.int64], most: int = 0, endings: int = 1) -> list[slice]:
    """The parts of a batch that take the least time together.

    A part costs its rows times the width of its longest one, and `COST`. Only examples whose
    lengths rise are parted by them.

    Args:
        lengths: tokens of each example.
        most: examples in a part; 0 means any number.
        endings: rows of each example.
    """
    ends = _cuts(lengths, endings) if (np.diff(lengths) >= 0).all() else [len(lengths)]
    found = []
    first = 0
    for end in ends:
        step = most or end - first
        found += [slice(n, min(n + step, end)) for n in range(first, end, step)]
        first = end
    return found


def _cuts(lengths: NDArray[np.int64], endings: int) -> list[int]:
    """Where the cheapest parts of examples of rising length end."""
    widths = -(-lengths // STEP) * STEP
    ends = [*(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    best: dict[int, tuple[int, int]] = {0: (0, 0)}  # by the end of a part: cost, and its beginning
    for end in ends:
        best[end] = min(
            (cost + (end - first) * endings * int(widths[end - 1]) + COST, first)
            for first, (cost, _) in best.items()
        )
    found, end = [], len(widths)
    while end:
        found.append(end)
        end = best[end][1]
    return found[::-1]
