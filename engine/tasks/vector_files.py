"""Vectors of rows as files: .npy, and a column of a table. N rows, D numbers."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import StudioError
from engine.files.atomic_write import write_file
from engine.phrases import phrase


def save_vectors(path: Path, vectors: NDArray[np.float32]) -> None:
    """Write float32 [N, D] as .npy, atomically."""
    content = io.BytesIO()
    np.save(content, vectors)
    write_file(path, content.getvalue(), shared=True)


def vector_table(
    cells: Mapping[str, Sequence[str]], vectors: NDArray[np.float32], name: str
) -> pa.Table:
    """All cells by column, and the vectors as a list of float32 in the column `name`.

    Raises StudioError if that column exists already.
    """
    if name in cells:
        raise StudioError(
            phrase("The rows have a column “{name}” already.", name=name),
            phrase("Rename it, or write the vectors as .npy."),
        )
    count, size = vectors.shape
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel(), pa.float32())
    lists = pa.FixedSizeListArray.from_arrays(flat, size)
    columns = {column: pa.array(list(some), pa.string()) for column, some in cells.items()}
    assert len(lists) == count
    return pa.table({**columns, name: lists})
