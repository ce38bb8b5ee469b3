"""Orders of rows: by a column, or mistakes first."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.results.predictions import CELL, Predictions
from engine.results.row_figures import figure, holds_numbers, numbers_in, once

Places = NDArray[np.int64]


@once
def mistakes_first(predictions: Predictions) -> Places:
    """Row indices, int64 [rows]: the most confident mistakes first.

    Then correct rows, the least confident first, then rows without gold. The loss replaces a
    missing probability; numbers are sorted by their residual, largest first.
    """
    if holds_numbers(predictions.info):
        return _falling(np.abs(figure(predictions, "residual")))
    score, confidence = figure(predictions, "score"), figure(predictions, "probability")
    is_wrong = score < 1
    if np.isnan(confidence).all():
        losses = figure(predictions, "loss")
        confidence = np.where(is_wrong, losses, -losses)
    kind = np.where(is_wrong, 0, np.where(np.isnan(score), 2, 1))
    within = np.where(is_wrong, -confidence, confidence)
    places: Places = np.lexsort((within, kind))  # NaN sorts last in each kind
    return places


def sorted_by(predictions: Predictions, column: str, falls: bool = False) -> Places:
    """Row indices in the order of a column of the table, int64 [rows].

    Numeric columns are sorted by number. Empty cells come last either way.
    """
    values: Any = predictions.table[column]
    may_be_numbers = column.startswith(CELL) or column in ("gold", "predicted")
    if may_be_numbers and (found := _numbers(values)) is not None:
        values = found
    order: Literal["ascending", "descending"] = "descending" if falls else "ascending"
    rows: Places = pc.sort_indices(pa.table({"value": values}), [("value", order)]).to_numpy()
    return rows.astype(np.int64)


def _numbers(cells: "pa.ChunkedArray[pa.StringScalar]") -> Any:
    """The numbers of cells that hold numbers or nothing; None if there is a text."""
    lengths: Any = pc.utf8_length(cells)
    written = pc.fill_null(lengths, 0).to_numpy() > 0
    numbers = numbers_in(cells)
    if not written.any() or np.isnan(numbers[written]).any():
        return None
    return pa.array(numbers, pa.float64(), from_pandas=True)


def _falling(numbers: NDArray[np.floating]) -> Places:
    places: Places = np.argsort(-numbers, kind="stable")
    return places
