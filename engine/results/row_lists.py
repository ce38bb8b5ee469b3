"""Order, search and export rows of predictions."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.results.predictions import CELL, Predictions
from engine.results.row_figures import cached_per_table, figure, holds_numbers, parse_numbers

Indices = NDArray[np.int64]


@cached_per_table
def mistakes_first(predictions: Predictions) -> Indices:
    """Row indices, int64 [rows]: the most confident mistakes first.

    Then correct rows, the least confident first, then rows without gold. The loss replaces a
    missing probability; numbers are sorted by their residual, largest first.
    """
    if holds_numbers(predictions.info):
        return np.argsort(-np.abs(figure(predictions, "residual")), kind="stable")
    score, confidence = figure(predictions, "score"), figure(predictions, "probability")
    is_wrong = score < 1
    if np.isnan(confidence).all():
        losses = figure(predictions, "loss")
        confidence = np.where(is_wrong, losses, -losses)
    kind = np.where(is_wrong, 0, np.where(np.isnan(score), 2, 1))
    within = np.where(is_wrong, -confidence, confidence)
    return np.lexsort((within, kind))


def sort_rows(predictions: Predictions, column: str, descending: bool = False) -> Indices:
    """Row indices in the order of a column of the table, int64 [rows].

    Numeric columns are sorted by number. Empty cells come last either way.
    """
    values: Any = predictions.table[column]
    may_be_numbers = column.startswith(CELL) or column in ("gold", "predicted")
    if may_be_numbers and (numbers := _parse_if_numeric(values)) is not None:
        values = numbers
    order: Literal["ascending", "descending"] = "descending" if descending else "ascending"
    rows: Indices = pc.sort_indices(pa.table({"value": values}), [("value", order)]).to_numpy()
    return rows.astype(np.int64)


def _parse_if_numeric(cells: "pa.ChunkedArray[pa.StringScalar]") -> Any:
    """The numbers of cells that hold numbers or nothing; None if there is a text."""
    lengths: Any = pc.utf8_length(cells)
    written = pc.fill_null(lengths, 0).to_numpy() > 0
    numbers = parse_numbers(cells)
    if not written.any() or np.isnan(numbers[written]).any():
        return None
    return pa.array(numbers, pa.float64(), from_pandas=True)


def extremes(predictions: Predictions, count: int) -> tuple[Indices, Indices]:
    """At most `count` rows each: the worst, worst first, and the best, best first.

    Rows without a label are in neither, and no row is in both. The order is: the most confident
    mistakes, then correct rows with the least confidence; for numbers, the largest residual first.
    """
    figures = figure(predictions, "residual" if holds_numbers(predictions.info) else "score")
    order = mistakes_first(predictions)
    order = order[~np.isnan(figures[order])]
    worst = order[:count]
    best = order[max(count, len(order) - count) :][::-1]
    return worst, best


LABELS = ("gold", "predicted")


def rows_with(predictions: Predictions, text: str) -> NDArray[np.bool_]:
    """The rows with `text` in a cell, in gold or in the prediction, ignoring case, bool [rows]."""
    rows = np.zeros(len(predictions), dtype=bool)
    for name in predictions.table.column_names:
        if name in LABELS or name.startswith(CELL):
            column: Any = predictions.table[name]
            has: Any = pc.match_substring(column, text, ignore_case=True)
            rows |= pc.fill_null(has, False).to_numpy(zero_copy_only=False)
    return rows


PREDICTION_COLUMNS = ("gold", "predicted", "probability", "loss", "score")


def plain_table(predictions: Predictions) -> pa.Table:
    """Row number, the row's cells under their own names, then the predictions.

    Each label has a column with its probability. Empty columns are left out; duplicate names get a
    number.
    """
    table = predictions.table
    columns: dict[str, pa.ChunkedArray[pa.Scalar[Any]]] = {}

    def add(name: str, values: "pa.ChunkedArray[pa.Scalar[Any]]") -> None:
        unique, suffix = name, 2
        while unique in columns:
            unique, suffix = f"{name} {suffix}", suffix + 1
        columns[unique] = values

    add("row", table["row"])
    for name in predictions.columns:
        add(name, table[CELL + name])
    for name in PREDICTION_COLUMNS:
        if table[name].null_count < len(table):
            add(name, table[name])
    labels = predictions.info.labels
    lengths = pc.unique(pc.list_value_length(table["scores"])).to_pylist()
    if labels and lengths == [len(labels)]:
        for index, label in enumerate(labels):
            add(f"probability of {label}", pc.list_element(table["scores"], index))
    return pa.table(columns)
