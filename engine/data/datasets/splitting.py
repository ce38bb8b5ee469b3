"""Reproducible random splits into training, validation and test rows."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

TRAIN, VALIDATION, TEST = range(3)  # as in SPLITS


def draw_splits(
    rows: int,
    validation: float,
    test: float,
    seed: int,
    labels: NDArray[np.int32] | None = None,
    groups: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.int8], int]:
    """Split of each row, int8 [rows], and the number of labels with a single row.

    `validation` and `test` are fractions of the rows. With `labels` (indices from 0), the split is
    stratified as far as whole rows allow, and at least one row of each label is for training. With
    `groups` (indices from 0), rows of a group share a split. The result depends only on the order
    of the rows and the seed.
    """
    splits = np.full(rows, TRAIN, dtype=np.int8)
    if rows == 0 or validation + test == 0:
        return splits, 0
    keys = np.random.Philox(seed).random_raw(rows)  # its stream is stable across NumPy versions
    order = np.argsort(keys, kind="stable")
    numbers = np.zeros(rows, dtype=np.int32) if labels is None else labels
    sizes = np.bincount(numbers)
    free = np.maximum(sizes - 1, 0)  # one row of each label is for training
    validation_counts = _counts(sizes, free, validation)
    test_counts = _counts(sizes, free - validation_counts, test)
    rare = int((sizes == 1).sum()) if labels is not None else 0
    if groups is not None and rows > 0 and groups.max() + 1 < rows:
        counts = {VALIDATION: validation_counts, TEST: test_counts}
        return _with_groups(counts, sizes, order, numbers, groups), rare
    few = numbers.astype(np.min_scalar_type(len(sizes)), copy=False)  # sorts faster
    order = order[np.argsort(few[order], kind="stable")]
    ends = np.cumsum(sizes)
    for end, size, count, further in zip(ends, sizes, validation_counts, test_counts, strict=True):
        own = order[end - size : end]
        splits[own[:count]] = VALIDATION
        splits[own[count : count + further]] = TEST
    return splits, rare


def _with_groups(
    targets: dict[int, NDArray[np.int64]],
    sizes: NDArray[np.int64],
    order: NDArray[np.int64],
    labels: NDArray[np.int32],
    groups: NDArray[np.int32],
) -> NDArray[np.int8]:
    """Split of each row, int8 [rows], constant within each group.

    Groups are assigned in the order of their first rows to the first split that lacks all their
    rows, else to training. A second pass moves groups that bring a split closer to its target; a
    split that is still empty gets the smallest group that can move.
    """
    missing = {split: counts.tolist() for split, counts in targets.items()}
    trained = sizes.tolist()  # training rows of each label
    assigned: dict[int, int] = {}
    units = _Units(order, labels, groups)

    def leaves_some(counts: dict[int, int]) -> bool:
        return all(trained[label] > count for label, count in counts.items())

    def put(group: int, counts: dict[int, int], split: int) -> None:
        assigned[group] = split
        for label, count in counts.items():
            missing[split][label] -= count
            trained[label] -= count

    for slack in (1, 2):  # allowed multiple of the missing rows
        for group, counts in units:
            if group in assigned or not leaves_some(counts):
                continue
            for split, left in missing.items():
                if all(count <= slack * left[label] for label, count in counts.items()):
                    put(group, counts, split)
                    break
            if not any(max(left) > 0 for left in missing.values()):
                break
    for split, counted in targets.items():
        if counted.sum() and split not in assigned.values():
            able = [unit for unit in units if unit[0] not in assigned and leaves_some(unit[1])]
            if able:
                put(*min(able, key=lambda unit: sum(unit[1].values())), split)
    by_group = np.full(groups.max() + 1, TRAIN, dtype=np.int8)
    by_group[list(assigned.keys())] = list(assigned.values())
    return by_group[groups]


class _Units:
    """Groups in the order of their first rows, with their rows per label."""

    def __init__(
        self, order: NDArray[np.int64], labels: NDArray[np.int32], groups: NDArray[np.int32]
    ) -> None:
        first = order[np.sort(np.unique(groups[order], return_index=True)[1])]
        self._first = groups[first].tolist(), labels[first].tolist()
        shared = np.bincount(groups)[groups] > 1
        self._counts: dict[int, dict[int, int]] = {}  # of groups with more than one row
        for group, label in zip(groups[shared].tolist(), labels[shared].tolist(), strict=True):
            counts = self._counts.setdefault(group, {})
            counts[label] = counts.get(label, 0) + 1

    def __iter__(self) -> Iterator[tuple[int, dict[int, int]]]:
        for group, label in zip(*self._first, strict=True):
            yield group, self._counts.get(group) or {label: 1}


def group_rows(keys: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """Group index of each row, int32 [rows], equal for equal keys; None if all keys are unique."""
    rising = np.sort(keys)
    twice = np.unique(rising[1:][rising[1:] == rising[:-1]])
    del rising
    if not len(twice):
        return None
    groups = np.minimum(np.searchsorted(twice, keys), len(twice) - 1).astype(np.int32)
    alone = twice[groups] != keys
    groups[alone] = np.arange(len(twice), len(twice) + np.count_nonzero(alone))
    return groups


def count_grouped_rows(groups: NDArray[np.int32] | None) -> int:
    """Number of rows that share their group."""
    if groups is None:
        return 0
    sizes = np.bincount(groups)
    return int(sizes[sizes > 1].sum())


def _counts(
    sizes: NDArray[np.int64], free: NDArray[np.int64], fraction: float
) -> NDArray[np.int64]:
    """Rows per group for a fraction of all rows, with the largest remainders rounded up."""
    exact = sizes * fraction
    counts: NDArray[np.int64] = np.minimum(np.floor(exact + 1e-9).astype(np.int64), free)
    missing = round(float(sizes.sum()) * fraction) - int(counts.sum())
    for group in np.argsort(counts - exact, kind="stable"):
        if missing <= 0:
            break
        if counts[group] < min(free[group], exact[group]):
            counts[group] += 1
            missing -= 1
    return counts
