"""Numeric properties of predicted rows, by name, to filter, sort and draw rows.

Each is [rows], NaN for none, and cached per table: float32 if stored so, which keeps comparisons
with stored values exact, else float64.
"""

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.task import RowFigure
from engine.config.tasks import TASKS
from engine.results.predictions import PredictionInfo, Predictions

Result = TypeVar("Result")
Floats = NDArray[np.float32] | NDArray[np.float64]
WORD = r"[^\s\p{Z}]+"
NUMBER = r"^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$"  # as in engine/data/columns/numbers.py


def cached_per_table(function: Callable[[Predictions], Result]) -> Callable[[Predictions], Result]:
    """Cache the result of a function of predictions on the predictions."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def wrapper(predictions: Predictions) -> Result:
        cache = vars(predictions)
        if name not in cache:
            cache[name] = function(predictions)
        return cast(Result, cache[name])

    return wrapper


def figure(predictions: Predictions, name: RowFigure) -> Floats:
    """The number of each row, [rows]."""
    cached: dict[str, Floats] = vars(predictions).setdefault("figures", {})
    if name not in cached:
        cached[name] = FIGURES[name](predictions)
    return cached[name]


def parse_numbers(column: "pa.ChunkedArray[pa.StringScalar]") -> NDArray[np.float64]:
    """The number in each cell, float64 [rows]; NaN for none."""
    trimmed = pc.utf8_trim_whitespace(column)
    is_number = pc.match_substring_regex(trimmed, NUMBER)
    written = pc.replace_substring(pc.if_else(is_number, trimmed, None), ",", ".")
    numbers: NDArray[np.float64] = written.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def quantile_starts(values: Floats, parts: int) -> list[float]:
    """Starts of groups of about equally many values; each is a value, ascending and distinct."""
    finite = np.sort(values[~np.isnan(values)])
    if not len(finite):
        return []
    return [float(start) for start in np.unique(finite[(np.arange(parts) * len(finite)) // parts])]


@cached_per_table
def details(predictions: Predictions) -> list[dict[str, Any]]:
    """The task-specific data of each row; {} for none."""
    return [json.loads(cell) if cell else {} for cell in predictions.table["details"].to_pylist()]


def text_columns(predictions: Predictions) -> tuple[str, ...]:
    return tuple(name for name in predictions.info.mapping.texts if name in predictions.columns)


def _sum_over_texts(predictions: Predictions, count: Callable[[Any], Any]) -> NDArray[np.float64]:
    counts = np.zeros(len(predictions), dtype=np.float64)
    for column in text_columns(predictions):
        cells = pc.coalesce(predictions.cells(column), pa.scalar(""))
        counts += count(cells).to_numpy(zero_copy_only=False)
    return counts


def holds_numbers(info: PredictionInfo) -> bool:
    """Gold and predicted are numbers on a scale, so that rows are not right or wrong."""
    return TASKS[info.task].predicts_numbers(info.metrics)


def _predicted(predictions: Predictions) -> NDArray[np.float64]:
    """The predicted number in full precision if stored, else as written."""
    if holds_numbers(predictions.info):
        return pc.list_element(predictions.table["scores"], 0).to_numpy().astype(np.float64)
    return parse_numbers(predictions.table["predicted"])


def _margin(predictions: Predictions) -> NDArray[np.float64]:
    """The highest score of a row minus the second; NaN with fewer than two scores."""
    margins = np.full(len(predictions), np.nan)
    lengths = pc.fill_null(pc.list_value_length(predictions.table["scores"]), 0).to_numpy()
    flat = pc.list_flatten(predictions.table["scores"]).to_numpy().astype(np.float64)
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths[lengths > 1]):
        rows = np.flatnonzero(lengths == length)
        scores = flat[starts[rows, None] + np.arange(length)]  # [rows, length]
        best = np.partition(scores, length - 2, axis=1)
        margins[rows] = best[:, -1] - best[:, -2]
    return margins


def _no_answer(predictions: Predictions) -> NDArray[np.float64]:
    return np.array([row.get("null", np.nan) for row in details(predictions)], dtype=np.float64)


FIGURES: Mapping[RowFigure, Callable[[Predictions], Floats]] = {
    "probability": lambda predictions: predictions.numbers("probability"),
    "loss": lambda predictions: predictions.numbers("loss"),
    "score": lambda predictions: predictions.numbers("score"),
    "words": lambda predictions: _sum_over_texts(
        predictions, lambda cells: pc.count_substring_regex(cells, WORD)
    ),
    "characters": lambda predictions: _sum_over_texts(predictions, pc.utf8_length),
    "gold": lambda predictions: parse_numbers(predictions.table["gold"]),
    "predicted": _predicted,
    "residual": lambda predictions: figure(predictions, "predicted") - figure(predictions, "gold"),
    "margin": _margin,
    "no_answer": _no_answer,
}
