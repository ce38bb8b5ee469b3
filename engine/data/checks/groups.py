"""Groups of equal or nearly equal rows, as one group number per row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

RowIndices = NDArray[np.int64]


def sorted_unique(values: NDArray[Any]) -> NDArray[Any]:
    """Sort the unique values. Unlike `np.unique`, `np.sort` releases the GIL."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    unique: NDArray[Any] = ordered[is_new]
    return unique


def sort_by_group(groups: NDArray[np.int64], rows: RowIndices) -> RowIndices:
    """Sort rows by their group, then by index."""
    ordered: RowIndices = rows[np.lexsort((rows, groups[rows]))]
    return ordered


def later_rows(groups: NDArray[np.int64], rows: RowIndices) -> RowIndices:
    """Drop the first row of each group; `rows` must ascend."""
    _, first = np.unique(groups[rows], return_index=True)
    return np.delete(rows, first)


def repeated_rows(groups: NDArray[np.int64], rows: RowIndices) -> RowIndices:
    """Keep the rows whose group has several of them."""
    _, index, counts = np.unique(groups[rows], return_inverse=True, return_counts=True)
    repeated: RowIndices = rows[counts[index] > 1]
    return repeated


def combine(*keys: NDArray[Any]) -> NDArray[np.int64]:
    """Group rows that agree in all keys: one number per row, int64 [N]."""
    groups = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        _, index = np.unique(key, return_inverse=True)
        _, groups = np.unique(groups * (index.max(initial=0) + 1) + index, return_inverse=True)
    return groups
