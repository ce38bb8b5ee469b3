"""Predictions as table columns next to those of the file.

Internally, columns are named “cell:NAME” and “said:NAME” so that none hides another; predictions
get their final names when written.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import StudioError
from engine.phrases import phrase
from engine.results.predictions import CELL

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
    """Schema of the written table."""
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
