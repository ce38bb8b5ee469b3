"""Sort rows by a column: numbers by value, texts ignoring case."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.data.columns.numbers import NUMBER
from engine.data.datasets.store import Dataset
from engine.progress import Cancelled, ProgressCallback, no_progress

MAX_COMPARED_CHARACTERS = 100  # per cell
EMPTY = -1  # rank of an empty cell
LAST_KEY = np.iinfo(np.int32).max  # sorts empty cells to the end
NUMERIC = f"(?i)^(?:{NUMBER.pattern})$"

Ranks = NDArray[np.int32]


def column_ranks(
    dataset: Dataset,
    column: str,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> Ranks:
    """Rank of each row by a column, int32 [rows].

    Equal cells have equal ranks, empty cells `EMPTY`. A column of numbers is ranked by value, any
    other by text, ignoring case. `_line` is the source line; `_split` is ranked in the order
    training, validation, test.

    Raises:
        Cancelled: soon after `cancelled()` is true.
        StudioError: if the file is damaged.
    """
    if column == "_split":
        return dataset.splits.astype(np.int32)
    if column == "_line":
        return _rank_numbers(dataset.column("_line").to_numpy().astype(np.float64))
    parts, are_numbers = [], True
    for done, cells in enumerate(_trimmed_cells(dataset, column), start=1):
        if cancelled is not None and cancelled():
            raise Cancelled
        numeric = pc.match_substring_regex(pc.utf8_rtrim_whitespace(cells), NUMERIC)
        are_numbers = are_numbers and bool(pc.all(numeric, min_count=0).as_py())  # ignores nulls
        parts.append(cells)
        progress(done, dataset.group_count)
    cells = pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())
    if are_numbers:
        normalised = pc.replace_substring(pc.utf8_rtrim_whitespace(cells), ",", ".")
        return _rank_numbers(normalised.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return _rank_texts(pc.utf8_lower(cells))


def sort_rows(rows: NDArray[np.int64], ranks: Ranks, descending: bool = False) -> NDArray[np.int64]:
    """Sort rows by rank, int64 [N], stable; empty cells come last in both directions."""
    keys = ranks[rows]
    keys = np.where(keys == EMPTY, LAST_KEY, -keys if descending else keys)
    return rows[np.argsort(keys, kind="stable")]


def _trimmed_cells(dataset: Dataset, column: str) -> Iterator[Any]:
    """Truncated cells of each row group, without leading white space; null if empty."""
    for group in range(dataset.group_count):
        chunks: list[Any] = dataset.group_column(group, column).chunks
        for part in chunks:
            truncated = pc.utf8_slice_codeunits(part.dictionary, 0, MAX_COMPARED_CHARACTERS)
            texts: Any = pc.utf8_ltrim_whitespace(truncated.cast(pa.large_string()))
            is_empty: Any = pc.equal(texts, pa.scalar("", pa.large_string()))
            yield pc.if_else(is_empty, None, texts).take(part.indices)


def _rank_numbers(numbers: NDArray[np.float64]) -> Ranks:
    """Ranks of numbers; NaN is an empty cell."""
    is_number = ~np.isnan(numbers)
    ranks = np.full(len(numbers), EMPTY, dtype=np.int32)
    ranks[is_number] = np.unique(numbers[is_number], return_inverse=True)[1]
    return ranks


def _rank_texts(cells: Any) -> Ranks:
    """Ranks of texts; null is an empty cell."""
    order = pc.sort_indices(cells)[: len(cells) - cells.null_count]  # nulls are last
    texts = cells.take(order)
    ranks = np.full(len(cells), EMPTY, dtype=np.int32)
    if len(texts):
        is_new = pc.not_equal(texts[1:], texts[:-1]).to_numpy(zero_copy_only=False)
        ranks[order.to_numpy()] = np.concatenate([[0], np.cumsum(is_new)])
    return ranks
