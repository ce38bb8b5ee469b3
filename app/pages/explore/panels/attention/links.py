"""Which links of a head are worth drawing.

Shapes: T tokens that are shown, N links.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MAX_LINKS = 2_000  # links of a head that are drawn or listed


class Links(NamedTuple):
    """Links of one head, strongest first."""

    rows: np.ndarray  # int [N], the query tokens
    columns: np.ndarray  # int [N], the key tokens
    weights: np.ndarray  # float32 [N]
    wanted: int  # how many make up the share of the mass; more than N where they are too many

    @property
    def is_cut(self) -> bool:
        return self.wanted > len(self.rows)

    def first(self, most: int) -> "Links":
        """The strongest of them."""
        return Links(self.rows[:most], self.columns[:most], self.weights[:most], self.wanted)


NO_LINKS = Links(np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32), 0)


def are_drawn_alike(some: Sequence[Links], others: Sequence[Links]) -> bool:
    """Whether these links of several heads are the same lines."""
    return len(some) == len(others) and all(
        all(map(np.array_equal, one[:3], other[:3]))
        for one, other in zip(some, others, strict=True)
    )


class Ranking(NamedTuple):
    """The links of one head in order, by which those of any share are found at once."""

    strongest: Links  # as many as are drawn at the most
    masses: np.ndarray  # float64 [links that are not 0], of each with all that are stronger

    def holding(self, share: float) -> Links:
        """The fewest links that hold `share` of the mass, and of them those that are drawn."""
        wanted = len(self.masses)
        if share < 1 and wanted:
            mass = share * float(self.masses[-1]) * (1 - 1e-6)
            wanted = min(wanted, int(np.searchsorted(self.masses, mass)) + 1)
        rows, columns, weights, _ = self.strongest
        return Links(rows[:wanted], columns[:wanted], weights[:wanted], wanted)


def ranked(weights: np.ndarray, most: int = MAX_LINKS) -> Ranking:
    """The links of float32 [T, T], which are not negative; equal ones as they stand.

    The bits of such numbers are in their order: one whole number of the bits and the place of a
    link is sorted four times as quickly as a stable sort of the numbers takes.
    """
    flat = weights.ravel()
    falling = np.uint64(0xFFFFFFFF) - (flat + np.float32(0)).view(np.uint32)  # no -0.0
    keys = (falling.astype(np.uint64) << np.uint64(32)) | np.arange(len(flat), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    masses = np.cumsum(flat[order[: np.count_nonzero(flat)]], dtype=np.float64)
    kept = order[: min(len(masses), most)]
    rows, columns = np.divmod(kept, weights.shape[1]) if len(kept) else (kept, kept)
    return Ranking(Links(rows, columns, flat[kept], len(masses)), masses)
