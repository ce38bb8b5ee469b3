"""Rows in groups of equal or nearly equal ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

RowIndices = NDArray[np.int64]


def no_rows() -> RowIndices:
    return np.zeros(0, dtype=np.int64)


def distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Each number once, in rising order; unlike `np.unique`, it lets other threads run."""
    found = np.sort(numbers)
    is_new = np.ones(len(found), dtype=bool)
    is_new[1:] = found[1:] != found[:-1]
    kept: NDArray[Any] = found[is_new]
    return kept


def together(groups: NDArray[np.int64], rows: RowIndices) -> RowIndices:
    """Some rows with those of one group beside one another, groups by their first row."""
    found: RowIndices = rows[np.lexsort((rows, groups[rows]))]
    return found


def later_ones(groups: NDArray[np.int64], rows: RowIndices) -> RowIndices:
    """Of some rows in rising order, those that are not the first of their group."""
    _, first = np.unique(groups[rows], return_index=True)
    return np.delete(rows, first)


def sharing(groups: NDArray[np.int64], rows: RowIndices) -> RowIndices:
    """Of some rows, those whose group has another of them."""
    _, place, counts = np.unique(groups[rows], return_inverse=True, return_counts=True)
    found: RowIndices = rows[counts[place] > 1]
    return found


def combined(*numbers: NDArray[Any]) -> NDArray[np.int64]:
    """One number for each row that is equal where all of the numbers are, by first appearance."""
    found = np.zeros(len(numbers[0]), dtype=np.int64)
    for one in numbers:
        _, place = np.unique(one, return_inverse=True)
        _, found = np.unique(found * (place.max(initial=0) + 1) + place, return_inverse=True)
    return found
