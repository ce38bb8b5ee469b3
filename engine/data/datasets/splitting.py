"""Deal rows out to train, dev and test: by chance that repeats, or by a column."""

import numpy as np
from numpy.typing import NDArray

TRAIN, DEV, TEST = range(3)  # as in SPLITS


def deal(
    rows: int, dev: float, test: float, seed: int, labels: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int8], int]:
    """A part for each row, as int8 [rows], and how many labels were too rare to be shared out.

    `dev` and `test` are shares of the rows. With `labels`, numbers from 0 on, each part gets the
    same share of each label as far as whole rows allow; a label keeps one row for training at
    least. The order of the rows and the seed alone decide.
    """
    parts = np.full(rows, TRAIN, dtype=np.int8)
    if rows == 0 or dev + test == 0:
        return parts, 0
    keys = np.random.Philox(seed).random_raw(rows)  # its stream is the same in every version
    order = np.argsort(keys, kind="stable")
    if labels is None:
        groups = [order]
    else:
        order = order[np.argsort(labels[order], kind="stable")]
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    sizes = np.array([len(group) for group in groups])
    free = sizes - 1  # one row of each label stays for training
    dev_counts = _counts(sizes, free, dev)
    test_counts = _counts(sizes, free - dev_counts, test)
    for group, dev_count, test_count in zip(groups, dev_counts, test_counts, strict=True):
        parts[group[:dev_count]] = DEV
        parts[group[dev_count : dev_count + test_count]] = TEST
    return parts, int((sizes == 1).sum()) if labels is not None else 0


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
