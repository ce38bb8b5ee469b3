"""Vectors of rows as .npy, float32 [N, D], written in chunks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy

from engine.errors import StudioError
from engine.files.atomic_write import atomic_file
from engine.phrases import phrase

VECTOR = "vector"


def write_vectors(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """Write the predicted vectors atomically. Raises StudioError if there are none."""
    name = _vector_column(schema)
    rows, size = 0, 0
    with atomic_file(path, shared=True) as file, open(file, "wb") as out:
        for table in tables:
            lists: pa.ListArray[Any] = table[name].combine_chunks()  # type: ignore[assignment]
            flat = lists.flatten().to_numpy().astype(np.float32)
            if not rows:
                size = len(flat) // max(len(lists), 1)
                _write_header(out, 0, size)
            rows += len(lists)
            out.write(flat.tobytes())
        out.seek(0)
        _write_header(out, rows, size)  # same length: NumPy pads the header


def _write_header(out: BinaryIO, rows: int, size: int) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, size)}
    npy.write_array_header_1_0(out, header)


def _vector_column(schema: pa.Schema) -> str:
    """The last column with this name, which has the prediction."""
    found = [
        field.name
        for field in schema
        if field.name.removeprefix("predicted_") == VECTOR and pa.types.is_list(field.type)
    ]
    if not found:
        raise StudioError(
            phrase("No vectors are predicted, and .npy files hold nothing else."),
            phrase("Choose another suffix; or a sentence encoder, and no second text."),
        )
    return str(found[-1])
