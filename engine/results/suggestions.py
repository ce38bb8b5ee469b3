"""Orders for labelling rows.

Shapes: N rows, C classes, D size of a vector.
"""

import numpy as np
from numpy.typing import NDArray


def most_uncertain(p: NDArray[np.float64]) -> NDArray[np.int64]:
    """All rows, the smallest margin between the two most probable classes first, int64 [N].

    Args:
        p: float64 [N, C], probabilities; at least two classes.
    """
    first, second = np.partition(p, -2, axis=1)[:, [-1, -2]].T
    found: NDArray[np.int64] = np.argsort(first - second, kind="stable")
    return found


def most_diverse(vectors: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Rows that cover all others, int64 [at most `count`]: k-centre greedy (Sener, Savarese 2018).

    Each is the row with the largest cosine distance from those chosen before; the first is nearest
    to the mean.

    Args:
        vectors: float32 [N, D].
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-12)  # [N, D]
    taken = [int((unit @ unit.mean(axis=0)).argmax())]
    nearest = unit @ unit[taken[0]]  # float32 [N], cosine to the nearest chosen row
    for _ in range(1, min(count, len(unit))):
        nearest[taken] = np.inf
        taken.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, unit @ unit[taken[-1]])
    return np.array(taken, dtype=np.int64)
