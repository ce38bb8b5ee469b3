"""Predictions as table columns next to those of the file, and the files that hold them.

Internally, columns are named “cell:NAME” and “said:NAME” so that none hides another; predictions
get their final names when written. A .conll file has words and tags only, a .npy file vectors.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib import format as npy

from engine.data.formats.conll import EMPTY, NO_BREAK_SPACE
from engine.errors import StudioError
from engine.files.atomic_write import atomic_file
from engine.files.table_files import TABLE_WRITERS, Tables, iter_records, write_table
from engine.phrases import phrase
from engine.results.predictions import CELL

SUFFIX = ".conll"
VECTORS = ".npy"
WRITERS = (*TABLE_WRITERS, SUFFIX, VECTORS)
SAID = "said:"
CERTAINTY = "certainty"  # of each prediction, float64 from 0 to 1, or null
UNSURE = "unsure"
DIGITS = 6  # decimal places


def chunk_of(cells: Mapping[str, Sequence[str]], said: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A chunk from the cells of its rows and their prediction records."""
    parts = dict.fromkeys(part for one in said for part in one)
    columns: dict[str, pa.Array[Any]] = {
        CELL + name: pa.array(column, pa.string()) for name, column in cells.items()
    }
    columns |= {SAID + part: pa.array([_rounded(one.get(part)) for one in said]) for part in parts}
    columns[CERTAINTY] = pa.array([certainty(one) for one in said], pa.float64())
    return pa.table(columns)


def certainty(said: Mapping[str, Any]) -> float | None:
    """Probability of a prediction, the smallest of several; None if there is none."""
    if "probability" in said:
        return float(said["probability"])
    if "probabilities" in said:
        return min(said["probabilities"], default=None)
    shares = [float(share) for part, share in said.items() if part.startswith("p(")]
    return min((max(share, 1 - share) for share in shares), default=None)


def outer_names(schema: pa.Schema) -> dict[str, str]:
    """Final names of the columns, in order.

    A predicted column with a name of the file is prefixed with “predicted_”.
    """
    cells = [name for name in schema.names if name.startswith(CELL)]
    taken = {name.removeprefix(CELL) for name in cells}
    said = [name for name in schema.names if name.startswith(SAID)]
    return {name: name.removeprefix(CELL) for name in cells} | {
        name: _free(name.removeprefix(SAID), taken) for name in said
    }


def written_schema(schema: pa.Schema, threshold: float | None) -> pa.Schema:
    return written(schema.empty_table(), threshold).schema


def written(chunk: pa.Table, threshold: float | None) -> pa.Table:
    """A chunk with its final names, marked below the threshold."""
    names = outer_names(chunk.schema)
    table = chunk.select(list(names)).rename_columns(list(names.values()))
    if threshold is None:
        return table
    marks = pc.less(chunk[CERTAINTY], pa.scalar(threshold, pa.float64()))
    return table.append_column(_free(UNSURE, table.column_names), marks)


def check_threshold(chunk: pa.Table, threshold: float | None) -> None:
    """Raise StudioError if there is a threshold but the model has no probabilities."""
    if threshold is not None and chunk.num_rows and chunk[CERTAINTY].null_count == chunk.num_rows:
        raise StudioError(
            phrase("This model predicts without probabilities, so no row can be unsure."),
            phrase("Leave out the threshold."),
        )


def _free(name: str, taken: Container[str]) -> str:
    while name in taken:
        name = f"predicted_{name}"
    return name


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return value


def write(path: Path, schema: pa.Schema, tables: Tables, raw: bool) -> None:
    """Write rows and predictions in the format of the suffix; see `write_table`."""
    if path.suffix.lower() == VECTORS:
        _write_vectors(path, schema, tables)
        return
    if path.suffix.lower() != SUFFIX:
        write_table(path, schema, tables, raw)
        return
    problem = phrase("The model does not predict tags, and .conll files hold nothing else.")
    advice = phrase("Choose another suffix, or a token classification model.")
    words, tags = (_list_column(schema, part, problem, advice) for part in ("words", "tags"))
    with atomic_file(path, shared=True) as file, open(file, "w", encoding="utf-8") as out:
        between = ""
        for row in iter_records(tables):
            if row[words]:
                out.write(between + "".join(_lines(row[words], row[tags])))
                between = "\n"


def _list_column(schema: pa.Schema, part: str, problem: str, advice: str) -> str:
    """The last column with this name, which has the prediction. Raises StudioError if there is
    none."""
    columns = [
        field.name
        for field in schema
        if field.name.removeprefix("predicted_") == part and pa.types.is_list(field.type)
    ]
    if not columns:
        raise StudioError(problem, advice)
    return str(columns[-1])


def _lines(words: Iterable[str], tags: Iterable[str]) -> Iterable[str]:
    """White space in a word becomes a no-break space, and an empty word “_”."""
    for word, tag in zip(words, tags, strict=True):
        yield f"{NO_BREAK_SPACE.join(word.split()) or EMPTY}\t{tag}\n"


def _write_vectors(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """Write the predicted vectors as float32 [N, D]. Raises StudioError if there are none."""
    name = _list_column(
        schema,
        "vector",
        phrase("No vectors are predicted, and .npy files hold nothing else."),
        phrase("Choose another suffix; or a sentence encoder, and no second text."),
    )
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
