"""What is different between two versions of a data set, row by row."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.data.datasets.store import Dataset
from engine.data.formats.lines import Cancelled
from engine.spec.dataset import SPLITS, SplitName


@dataclass(frozen=True)
class RowDifference:
    """A row that is not the same in both versions.

    Args:
        line: of the file that it was imported from.
        before: its number in the older version; None: it is new.
        after: its number in the newer version; None: it was deleted.
        cells: by column, what stood there and what stands there.
        split: the old and the new one, where they differ.
    """

    line: int
    before: int | None
    after: int | None
    cells: dict[str, tuple[str, str]]
    split: tuple[SplitName, SplitName] | None = None


def differences(
    old: Dataset, new: Dataset, cancelled: Callable[[], bool] = lambda: False
) -> list[RowDifference]:
    """The rows that differ, in the order of the newer version, deleted ones last.

    Rows are matched by their line and their order, which every version keeps; columns that only
    one of the versions has are left out.

    Raises:
        StudioError: where one of them is damaged.
        Cancelled: soon after `cancelled()` is true.
    """
    old_lines, new_lines = (one.column("_line").to_numpy() for one in (old, new))
    before = _matched(old_lines, new_lines)  # [rows of the newer]
    here = np.flatnonzero(before >= 0)
    there = before[here]
    cells: dict[int, dict[str, tuple[str, str]]] = defaultdict(dict)
    for name in [column for column in new.spec.columns if column in old.spec.columns]:
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


def _matched(old: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each line of `new`, the place of its row in `old`, -1 where it has none; rising."""
    if np.array_equal(old, new):
        return np.arange(len(new), dtype=np.int64)
    places: dict[int, list[int]] = defaultdict(list)
    for place, line in enumerate(old.tolist()):
        places[line].append(place)
    found, last = np.full(len(new), -1, dtype=np.int64), -1
    for number, line in enumerate(new.tolist()):
        own = places.get(line, [])
        next_one = bisect_right(own, last)
        if next_one < len(own):
            found[number] = last = own[next_one]
    return found
