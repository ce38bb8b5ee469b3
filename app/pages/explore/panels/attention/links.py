"""Which links of a head are worth drawing.

Shapes: T tokens that are shown, N links.
"""

from typing import NamedTuple

import numpy as np

MOST = 2_000  # links of a head that are drawn or listed


class Links(NamedTuple):
    """Links of one head, strongest first."""

    rows: np.ndarray  # int [N], the tokens that look
    columns: np.ndarray  # int [N], the tokens looked at
    weights: np.ndarray  # float32 [N]
    wanted: int  # how many make up the share of the mass; more than N where they are too many

    @property
    def is_cut(self) -> bool:
        return self.wanted > len(self.rows)


NO_LINKS = Links(np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32), 0)


def strongest(weights: np.ndarray, share: float, most: int = MOST) -> Links:
    """The fewest links of float32 [T, T] that hold `share` of its mass, and of them `most`."""
    flat = weights.ravel()
    total = float(flat.sum())
    if total <= 0:
        return NO_LINKS
    order = np.argsort(-flat, kind="stable")
    mass = np.cumsum(flat[order], dtype=np.float64)
    wanted = int(np.count_nonzero(flat))
    if share < 1:
        wanted = min(wanted, int(np.searchsorted(mass, share * total * (1 - 1e-6))) + 1)
    kept = order[: min(wanted, most)]
    rows, columns = np.divmod(kept, weights.shape[1])
    return Links(rows, columns, flat[kept], wanted)
