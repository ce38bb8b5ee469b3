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


def count_differences(found: list[RowDifference]) -> Counts:
    added = sum(one.before is None for one in found)
    removed = sum(one.after is None for one in found)
    return Counts(len(found) - added - removed, added, removed)


def differences(
    old: Dataset, new: Dataset, cancelled: Callable[[], bool] = lambda: False
) -> list[RowDifference]:
    """Rows that differ, in the order of the newer version, deleted ones last.

    Rows are matched by line and order, which all versions keep, and by cells if several rows have
    the same line. Columns that only one version has are ignored.

    Raises:
        StudioError: if a version is damaged.
        Cancelled: soon after `cancelled()` is true.
    """
    new_lines = new.column("_line").to_numpy()
    old_lines = old.column("_line").to_numpy()
    shared = [column for column in new.spec.columns if column in old.spec.columns]
    before = _matched(old, new, shared, cancelled)  # [rows of the newer]
    here = np.flatnonzero(before >= 0)
    there = before[here]
    cells: dict[int, dict[str, tuple[str, str]]] = defaultdict(dict)
    for name in shared:
        if cancelled():
            raise Cancelled
        ours, theirs = new.column(name).take(here), old.column(name).take(there)
        for place in np.flatnonzero(pc.not_equal(ours, theirs).to_numpy(False)).tolist():
            number = int(here[place])
            cells[number][name] = (theirs[place].as_py(), ours[place].as_py())
    was, now = old.splits[there], new.splits[here]
    moved = {
        int(here[place]): (SPLITS[was[place]], SPLITS[now[place]])
        for place in np.flatnonzero(was != now)
    }
    added = {int(number) for number in np.flatnonzero(before < 0)}
    found = [
        RowDifference(
            line=int(new_lines[number]),
            before=None if number in added else int(before[number]),
            after=number,
            cells=cells.get(number, {}),
            split=moved.get(number),
        )
        for number in sorted({*cells, *moved, *added})
    ]
    deleted = np.setdiff1d(np.arange(len(old)), there)
    return found + [RowDifference(int(old_lines[n]), int(n), None, {}) for n in deleted]


def _matched(
    old: Dataset, new: Dataset, columns: list[str], cancelled: Callable[[], bool]
) -> NDArray[np.int64]:
    """Index in `old` of each row of `new`, ascending; -1 if there is none."""
    lines, new_lines = (one.column("_line").to_numpy() for one in (old, new))
    if np.array_equal(lines, new_lines):
        return np.arange(len(new_lines), dtype=np.int64)
    order = np.argsort(lines, kind="stable")
    if len(lines) and (np.diff(lines[order]) > 0).all():
        places = np.searchsorted(lines, new_lines, sorter=order).clip(max=len(lines) - 1)
        return np.where(lines[order[places]] == new_lines, order[places], -1)
    cells, new_cells = (_whole_rows(one, columns, cancelled) for one in (old, new))
    found = _unique_in_both(cells, new_cells)
    _match_between(found, cells, new_cells)
    _match_between(found, lines.tolist(), new_lines.tolist())
    return found


def _whole_rows(dataset: Dataset, columns: list[str], cancelled: Callable[[], bool]) -> list[int]:
    """Hash of line and cells of each row."""
    found = [hash(line) for line in dataset.column("_line").to_pylist()]
    for name in columns:
        if cancelled():
            raise Cancelled
        cells = dataset.column(name).to_pylist()
        found = [hash(pair) for pair in zip(found, cells, strict=True)]
    return found


def _unique_in_both(old: list[int], new: list[int]) -> NDArray[np.int64]:
    """Match keys that are unique on both sides, in ascending order."""
    counts, new_counts = Counter(old), Counter(new)
    places = {key: place for place, key in enumerate(old) if counts[key] == 1}
    found, last = np.full(len(new), -1, dtype=np.int64), -1
    for number, key in enumerate(new):
        place = places.get(key, -1) if new_counts[key] == 1 else -1
        if place > last:
            found[number] = last = place
    return found


def _match_between(found: NDArray[np.int64], old: list[int], new: list[int]) -> None:
    """Match equal keys between rows that are already matched, in order."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, key in enumerate(old):
        places[key].append(place)
    ends, end = np.empty(len(found), dtype=np.int64), len(old)  # the next matched index
    for number in range(len(found) - 1, -1, -1):
        ends[number] = end
        end = int(found[number]) if found[number] >= 0 else end
    last = -1
    for number, key in enumerate(new):
        if found[number] < 0:
            own = places.get(key, [])
            next_one = bisect_right(own, last)
            if next_one < len(own) and own[next_one] < ends[number]:
                found[number] = own[next_one]
        last = max(last, int(found[number]))
