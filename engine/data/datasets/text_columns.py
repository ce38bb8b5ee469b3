"""Columns of text as a dictionary: each text once, and for each row its number.

So a file of some kilobytes that says the same long text thousands of times stays small in memory,
and work on its texts is done once for each of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def size_of(table: pa.Table) -> int:
    """The bytes that all texts of a table would take if each row had its own."""
    return sum(
        pc.sum(pc.binary_length(part.dictionary).take(part.indices).cast(pa.int64())).as_py() or 0
        for column in table.columns
        for part in _parts(column)
    )


def cells_of(column: "pa.ChunkedArray[Any]", longest: int | None = None) -> list[Any]:
    """The cells of a column; with `longest`, no more of a text than so many characters."""
    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    return [cell for part in _parts(column) for cell in _texts_of(part, longest)]


def matching(
    column: "pa.ChunkedArray[Any]", match: Callable[["pa.Array[Any]"], "pa.Array[Any]"]
) -> NDArray[np.bool_]:
    """Which rows have a text that matches, bool [rows]; an empty cell (null) has none."""
    found = [np.zeros(0, dtype=bool)]
    for part in _parts(column):
        hits = match(part.dictionary).take(part.indices).fill_null(pa.scalar(False))
        found.append(hits.to_numpy(zero_copy_only=False))
    return np.concatenate(found)


def _parts(column: "pa.ChunkedArray[Any]") -> list[Any]:
    return column.chunks if pa.types.is_dictionary(column.type) else []


def _texts_of(part: Any, longest: int | None) -> list[Any]:
    used = pc.unique(part.indices)
    texts = part.dictionary.take(used)
    if longest is not None:
        texts = pc.utf8_slice_codeunits(texts, 0, longest)
    once = texts.to_pylist()
    places = pc.index_in(part.indices, value_set=used).to_pylist()
    return [once[place] for place in places]
