"""Dictionary-encoded text columns.

A small file may repeat a long text thousands of times; it is stored and searched once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def size_of(table: pa.Table) -> int:
    """Size of all texts of a table in bytes if it were not dictionary-encoded."""
    return sum(
        pc.sum(pc.binary_length(part.dictionary).take(part.indices).cast(pa.int64())).as_py() or 0
        for column in table.columns
        for part in _parts(column)
    )


def cells_of(column: "pa.ChunkedArray[Any]", longest: int | None = None) -> list[Any]:
    """Cells of a column, truncated to `longest` characters."""
    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    return [cell for part in _parts(column) for cell in _texts_of(part, longest)]


def matching(
    column: "pa.ChunkedArray[Any]", match: Callable[["pa.Array[Any]"], "pa.Array[Any]"]
) -> NDArray[np.bool_]:
    """Rows whose text matches, bool [rows]; null never does."""
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
