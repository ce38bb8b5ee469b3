"""Suggestions for labels: probable errors, and the rows to label next.

Errors are found by confident learning (Northcutt, Jiang, Chuang 2021): a row is suspicious if a
model that never saw it is confident of another label. The threshold of confidence of each label is
the mean probability that its own rows give it (equation 2 of the paper), so that errors in hard
labels are found too.

Shapes: N rows, C classes, D size of a vector.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelErrors:
    """Likely label errors.

    Args:
        joint: int64 [C, C], the confident joint: rows by given label and confidently predicted
            label. Likely errors are off the diagonal.
        suggested: int64 [N], the most probable label other than the given one; among the
            confident ones if there are any.
        confidence: float64 [N], probability of the given label (the self-confidence).
        is_likely: bool [N], the rows off the diagonal whose other label is also more probable than
            the given one. Without this, a label with a row or two has a threshold near 0 and claims
            all rows of which the model is a little unsure.
        order: int64 [N], all rows, the least self-confidence first.
    """

    joint: NDArray[np.int64]
    suggested: NDArray[np.int64]
    confidence: NDArray[np.float64]
    is_likely: NDArray[np.bool_]
    order: NDArray[np.int64]


def label_errors(probabilities: NDArray[np.float64], given: NDArray[np.int64]) -> LabelErrors:
    """Find rows whose label is probably wrong, the most suspicious first.

    Args:
        probabilities: float64 [N, C], of a model that was not fitted on the row; rows sum to 1.
        given: int64 [N], the index of each row's present label.

    Raises ValueError if the shapes do not fit, or there are fewer than two classes.
    """
    p = np.asarray(probabilities, dtype=np.float64)  # [N, C]
    if p.ndim != 2 or p.shape[1] < 2 or given.shape != p.shape[:1]:
        raise ValueError("probabilities must be [rows, classes], with at least two classes")
    rows = np.arange(len(p))
    own = p[rows, given]
    confident = np.where(p >= thresholds(p, given), p, -1.0)  # [N, C]
    best = confident.argmax(axis=1)
    is_confident = confident[rows, best] >= 0
    joint = np.zeros((p.shape[1], p.shape[1]), dtype=np.int64)
    np.add.at(joint, (given[is_confident], best[is_confident]), 1)
    is_likely = is_confident & (p[rows, best] > own)
    others = p.copy()
    others[rows, given] = -1.0
    suggested = np.where(is_likely, best, others.argmax(axis=1))
    return LabelErrors(joint, suggested, own, is_likely, np.argsort(own, kind="stable"))


def thresholds(p: NDArray[np.float64], given: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean self-confidence of each class, float64 [C]; above 1 if no row has its label."""
    classes = p.shape[1]
    own = p[np.arange(len(p)), given]
    counts = np.bincount(given, minlength=classes)
    sums = np.bincount(given, weights=own, minlength=classes)
    return np.where(counts > 0, sums / np.maximum(counts, 1), 2.0)


def most_uncertain(p: NDArray[np.float64]) -> NDArray[np.int64]:
    """All rows, the smallest margin between the two most probable classes first, int64 [N].

    Args:
        p: float64 [N, C], probabilities; at least two classes.
    """
    first, second = np.partition(p, -2, axis=1)[:, [-1, -2]].T
    return np.argsort(first - second, kind="stable")


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
