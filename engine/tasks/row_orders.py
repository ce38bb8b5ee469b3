"""Orders in which rows to label come up.

Shapes: N rows, M labelled rows, C labels, D size of a vector.
"""

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.sentence_similarity import normalise

BLOCK = 256  # labelled rows compared at a time


def margins(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most probable class less the second one, float64 [N], for p [N, C] with C ≥ 2."""
    first, second = np.partition(p, -2, axis=1)[:, [-1, -2]].T
    difference: NDArray[np.float64] = first - second
    return difference


def mean_binary_entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy of a label, present or not, in nats; the mean over labels, float64 [N]."""
    q = np.clip(p, 1e-12, 1 - 1e-12)
    entropy: NDArray[np.float64] = -(q * np.log(q) + (1 - q) * np.log(1 - q)).mean(axis=1)
    return entropy


def most_diverse(
    vectors: NDArray[np.float32], count: int, known: NDArray[np.float32] | None = None
) -> NDArray[np.int64]:
    """Rows that cover all others, int64 [at most `count`]: k-centre greedy (Sener, Savarese 2018).

    Each is the row with the largest cosine distance from the `known` ones and those chosen before;
    without known ones, the first is nearest to the mean.

    Args:
        vectors: float32 [N, D].
        known: float32 [M, D], of rows that have a label already.
    """
    unit = normalise(vectors)
    nearest = np.full(len(unit), -np.inf, dtype=np.float32)  # cosine to the nearest chosen row
    for start in range(0, 0 if known is None else len(known), BLOCK):
        assert known is not None
        block = normalise(known[start : start + BLOCK])
        nearest = np.maximum(nearest, (unit @ block.T).max(axis=1))
    if not np.isfinite(nearest).any():
        nearest = -(unit @ unit.mean(axis=0))
        first = int(nearest.argmin())
        chosen, nearest = [first], unit @ unit[first]
    else:
        chosen = []
    while len(chosen) < min(count, len(unit)):
        nearest[chosen] = np.inf
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, unit @ unit[chosen[-1]])
    return np.array(chosen, dtype=np.int64)
