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
    stratified as far as whole rows allow, and at least one row of each label stays in training.
    With `groups` (indices from 0), rows of a group share a split. The result depends only on the
    order of the rows and the seed.
    """
    splits = np.full(rows, TRAIN, dtype=np.int8)
    if rows == 0 or validation + test == 0:
        return splits, 0
    keys = np.random.Philox(seed).random_raw(rows)  # stable across NumPy versions
    order = np.argsort(keys, kind="stable")
    strata = np.zeros(rows, dtype=np.int32) if labels is None else labels
    sizes = np.bincount(strata)
    available = np.maximum(sizes - 1, 0)  # one row of each label stays in training
    validation_counts = _target_counts(sizes, available, validation)
    test_counts = _target_counts(sizes, available - validation_counts, test)
    rare = int((sizes == 1).sum()) if labels is not None else 0
    if groups is not None and rows > 0 and groups.max() + 1 < rows:
        counts = {VALIDATION: validation_counts, TEST: test_counts}
        return _split_groups(counts, sizes, order, strata, groups), rare
    compact = strata.astype(np.min_scalar_type(len(sizes)), copy=False)  # sorts faster
    order = order[np.argsort(compact[order], kind="stable")]
    ends = np.cumsum(sizes)
    for end, size, count, test_count in zip(
        ends, sizes, validation_counts, test_counts, strict=True
    ):
        label_rows = order[end - size : end]
        splits[label_rows[:count]] = VALIDATION
        splits[label_rows[count : count + test_count]] = TEST
    return splits, rare


def split_by_time(times: NDArray[np.float64], validation: float, test: float) -> NDArray[np.int8]:
    """Split of each row, int8 [rows]: the oldest for training, the newest for the test.

    `validation` and `test` are fractions of the rows, as near as equal times, which stay together,
    allow. The oldest rows are always for training.
    """
    newest_first = np.sort(times)[::-1]
    edges = np.flatnonzero(np.diff(newest_first)) + 1  # numbers of newest rows, between two times
    splits = np.full(len(times), TRAIN, dtype=np.int8)
    targets = ((VALIDATION, validation, validation + test), (TEST, test, test))
    for split, fraction, newest in targets:
        if fraction and len(edges):
            count = edges[np.abs(edges - newest * len(times)).argmin()]
            splits[times > newest_first[count]] = split
            edges = edges[edges < count]
    return splits


def _split_groups(
    targets: dict[int, NDArray[np.int64]],
    sizes: NDArray[np.int64],
    order: NDArray[np.int64],
    labels: NDArray[np.int32],
    groups: NDArray[np.int32],
) -> NDArray[np.int8]:
    """Split of each row, int8 [rows], constant within each group.

    Groups are assigned in the order of their first rows to the first split that still
    needs all their rows, else to training. A second pass moves groups that bring a split closer to
    its target; a split that is still empty gets the smallest group that can move.
    """
    missing = {split: counts.tolist() for split, counts in targets.items()}
    training = sizes.tolist()  # training rows of each label
    assigned: dict[int, int] = {}
    grouped = _Groups(order, labels, groups)

    def keeps_training_row(counts: dict[int, int]) -> bool:
        return all(training[label] > count for label, count in counts.items())

    def assign(group: int, counts: dict[int, int], split: int) -> None:
        assigned[group] = split
        for label, count in counts.items():
            missing[split][label] -= count
            training[label] -= count

    for slack in (1, 2):  # allowed multiple of the missing rows
        for group, counts in grouped:
            if group in assigned or not keeps_training_row(counts):
                continue
            for split, missing_counts in missing.items():
                if all(count <= slack * missing_counts[label] for label, count in counts.items()):
                    assign(group, counts, split)
                    break
            if not any(max(missing_counts) > 0 for missing_counts in missing.values()):
                break
    for split, target in targets.items():
        if target.sum() and split not in assigned.values():
            movable = [
                pair for pair in grouped if pair[0] not in assigned and keeps_training_row(pair[1])
            ]
            if movable:
                assign(*min(movable, key=lambda pair: sum(pair[1].values())), split)
    group_splits = np.full(groups.max() + 1, TRAIN, dtype=np.int8)
    group_splits[list(assigned.keys())] = list(assigned.values())
    return group_splits[groups]


class _Groups:
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
    ordered = np.sort(keys)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    if not len(repeated):
        return None
    groups = np.minimum(np.searchsorted(repeated, keys), len(repeated) - 1).astype(np.int32)
    is_unique = repeated[groups] != keys
    groups[is_unique] = np.arange(len(repeated), len(repeated) + np.count_nonzero(is_unique))
    return groups


def count_grouped_rows(groups: NDArray[np.int32] | None) -> int:
    """Number of rows that share their group."""
    if groups is None:
        return 0
    sizes = np.bincount(groups)
    return int(sizes[sizes > 1].sum())


def _target_counts(
    sizes: NDArray[np.int64], available: NDArray[np.int64], fraction: float
) -> NDArray[np.int64]:
    """Rows of each label for a fraction of all rows, with the largest remainders rounded up."""
    exact = sizes * fraction
    counts: NDArray[np.int64] = np.minimum(np.floor(exact + 1e-9).astype(np.int64), available)
    missing = round(float(sizes.sum()) * fraction) - int(counts.sum())
    for label in np.argsort(counts - exact, kind="stable"):
        if missing <= 0:
            break
        if counts[label] < min(available[label], exact[label]):
            counts[label] += 1
            missing -= 1
    return counts
