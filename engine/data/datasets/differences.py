"""Row-by-row differences between two versions of a data set."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.dataset import SPLITS, SplitName
from engine.data.datasets.store import Dataset
from engine.progress import Cancelled


@dataclass(frozen=True)
class RowDifference:
    """A row that differs between two versions.

    Args:
        line: line in the source file.
        before: row index in the older version; None if it is new.
        after: row index in the newer version; None if it was deleted.
        cells: old and new cell, by column.
        split: old and new split, if they differ.
    """

    line: int
    before: int | None
    after: int | None
    cells: dict[str, tuple[str, str]]
    split: tuple[SplitName, SplitName] | None = None


class Counts(NamedTuple):
    """Number of rows that differ."""

    changed: int
    added: int
    removed: int


def count_differences(rows: list[RowDifference]) -> Counts:
    added = sum(row.before is None for row in rows)
    removed = sum(row.after is None for row in rows)
    return Counts(len(rows) - added - removed, added, removed)


def differences(
    old: Dataset, new: Dataset, cancelled: Callable[[], bool] = lambda: False
) -> list[RowDifference]:
    """List the rows that differ, in the order of the newer version, deleted rows last.

    Rows are matched by line and order, which all versions keep, and by cells if several rows have
    the same line. Columns that only one version has are ignored.

    Raises:
        StudioError: if a version is damaged.
        Cancelled: soon after `cancelled()` is true.
    """
    new_lines = new.column("_line").to_numpy()
    old_lines = old.column("_line").to_numpy()
    shared = [column for column in new.spec.columns if column in old.spec.columns]
    before = _match_rows(old, new, shared, cancelled)  # [rows of the newer]
    new_rows = np.flatnonzero(before >= 0)
    old_rows = before[new_rows]
    cells: dict[int, dict[str, tuple[str, str]]] = defaultdict(dict)
    for name in shared:
        if cancelled():
            raise Cancelled
        new_cells, old_cells = new.column(name).take(new_rows), old.column(name).take(old_rows)
        for index in np.flatnonzero(pc.not_equal(new_cells, old_cells).to_numpy(False)).tolist():
            row = int(new_rows[index])
            cells[row][name] = (old_cells[index].as_py(), new_cells[index].as_py())
    old_splits, new_splits = old.splits[old_rows], new.splits[new_rows]
    moved = {
        int(new_rows[index]): (SPLITS[old_splits[index]], SPLITS[new_splits[index]])
        for index in np.flatnonzero(old_splits != new_splits)
    }
    added = {int(row) for row in np.flatnonzero(before < 0)}
    changed = [
        RowDifference(
            line=int(new_lines[row]),
            before=None if row in added else int(before[row]),
            after=row,
            cells=cells.get(row, {}),
            split=moved.get(row),
        )
        for row in sorted({*cells, *moved, *added})
    ]
    deleted = np.setdiff1d(np.arange(len(old)), old_rows)
    return changed + [RowDifference(int(old_lines[n]), int(n), None, {}) for n in deleted]


def _match_rows(
    old: Dataset, new: Dataset, columns: list[str], cancelled: Callable[[], bool]
) -> NDArray[np.int64]:
    """Index in `old` of each row of `new`, ascending; -1 for new rows."""
    lines, new_lines = (dataset.column("_line").to_numpy() for dataset in (old, new))
    if np.array_equal(lines, new_lines):
        return np.arange(len(new_lines), dtype=np.int64)
    order = np.argsort(lines, kind="stable")
    if len(lines) and (np.diff(lines[order]) > 0).all():
        positions = np.searchsorted(lines, new_lines, sorter=order).clip(max=len(lines) - 1)
        return np.where(lines[order[positions]] == new_lines, order[positions], -1)
    cells, new_cells = (_hash_rows(dataset, columns, cancelled) for dataset in (old, new))
    matches = _match_unique(cells, new_cells)
    _match_between(matches, cells, new_cells)
    _match_between(matches, lines.tolist(), new_lines.tolist())
    return matches


def _hash_rows(dataset: Dataset, columns: list[str], cancelled: Callable[[], bool]) -> list[int]:
    hashes = [hash(line) for line in dataset.column("_line").to_pylist()]
    for name in columns:
        if cancelled():
            raise Cancelled
        cells = dataset.column(name).to_pylist()
        hashes = [hash(pair) for pair in zip(hashes, cells, strict=True)]
    return hashes


def _match_unique(old: list[int], new: list[int]) -> NDArray[np.int64]:
    """Match keys that are unique on both sides, in ascending order."""
    counts, new_counts = Counter(old), Counter(new)
    positions = {key: index for index, key in enumerate(old) if counts[key] == 1}
    matches, last = np.full(len(new), -1, dtype=np.int64), -1
    for row, key in enumerate(new):
        position = positions.get(key, -1) if new_counts[key] == 1 else -1
        if position > last:
            matches[row] = last = position
    return matches


def _match_between(matches: NDArray[np.int64], old: list[int], new: list[int]) -> None:
    """Match equal keys between rows that are already matched, in order."""
    positions: dict[int, list[int]] = defaultdict(list)
    for position, key in enumerate(old):
        positions[key].append(position)
    ends, end = np.empty(len(matches), dtype=np.int64), len(old)  # the next matched index
    for row in range(len(matches) - 1, -1, -1):
        ends[row] = end
        end = int(matches[row]) if matches[row] >= 0 else end
    last = -1
    for row, key in enumerate(new):
        if matches[row] < 0:
            candidates = positions.get(key, [])
            position = bisect_right(candidates, last)
            if position < len(candidates) and candidates[position] < ends[row]:
                matches[row] = candidates[position]
        last = max(last, int(matches[row]))
