"""Split rows into train, validation and test at random, the same way for the same seed."""

import numpy as np
from numpy.typing import NDArray

TRAIN, VALIDATION, TEST = range(3)  # as in SPLITS


def draw_splits(
    rows: int, validation: float, test: float, seed: int, labels: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int8], int]:
    """A split for each row, as int8 [rows], and how many labels were too rare to be spread.

    `validation` and `test` are fractions of the rows. With `labels`, numbers from 0 on, each split
    gets the same fraction of each label as far as whole rows allow; a label keeps one row for
    training at least. The order of the rows and the seed alone decide.
    """
    splits = np.full(rows, TRAIN, dtype=np.int8)
    if rows == 0 or validation + test == 0:
        return splits, 0
    keys = np.random.Philox(seed).random_raw(rows)  # its stream is the same in every version
    order = np.argsort(keys, kind="stable")
    if labels is None:
        groups = [order]
    else:
        order = order[np.argsort(labels[order], kind="stable")]
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    sizes = np.array([len(group) for group in groups])
    free = sizes - 1  # one row of each label stays for training
    validation_counts = _counts(sizes, free, validation)
    test_counts = _counts(sizes, free - validation_counts, test)
    for group, validation_count, test_count in zip(
        groups, validation_counts, test_counts, strict=True
    ):
        splits[group[:validation_count]] = VALIDATION
        splits[group[validation_count : validation_count + test_count]] = TEST
    return splits, int((sizes == 1).sum()) if labels is not None else 0


def _counts(sizes: NDArray[np.int64], free: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """Rows of each group that make `share` together; the largest remainders are rounded up."""
    exact = sizes * share
    counts: NDArray[np.int64] = np.minimum(np.floor(exact + 1e-9).astype(np.int64), free)
    missing = round(float(sizes.sum()) * share) - int(counts.sum())
    for group in np.argsort(counts - exact, kind="stable"):
        if missing <= 0:
            break
        if counts[group] < min(free[group], exact[group]):
            counts[group] += 1
            missing -= 1
    return counts
