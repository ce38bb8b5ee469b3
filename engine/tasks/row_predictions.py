"""Columns of predictions to store. Shapes: N rows, C labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.config.dataset import Mapping as ColumnMapping
from engine.config.dataset import SplitName
from engine.results.predictions import PredictionInfo, Predictions


@dataclass(frozen=True)
class RowPredictions:
    """The columns of `engine.results.predictions.RECORD` that a task fills.

    Args:
        predicted: N texts.
        gold: N texts; None if unlabelled.
        probability: float [N], of the prediction; None if the task has none.
        loss: float [N], NaN for none; None without gold.
        score: float [N]; None without gold, or if rows are not right or wrong.
        scores: float [N, C]; None if the task has none for whole rows.
        details: N texts of JSON; None for none.
        settings: thresholds and other settings of the predictions, by name.
    """

    predicted: Sequence[str]
    gold: Sequence[str] | None = None
    probability: NDArray[np.floating[Any]] | None = None
    loss: NDArray[np.floating[Any]] | None = None
    score: NDArray[np.floating[Any]] | None = None
    scores: NDArray[np.floating[Any]] | None = None
    details: Sequence[str] | None = None
    settings: Mapping[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "predicted": self.predicted,
            "gold": self.gold,
            "probability": self.probability,
            "loss": self.loss,
            "score": self.score,
            "scores": None if self.scores is None else _lists(self.scores),
            "details": self.details,
        }
        return {name: column for name, column in columns.items() if column is not None}


class Origin(NamedTuple):
    """The origin of predictions, as in `PredictionInfo`."""

    part: SplitName | Literal["file"]
    source: str
    mapping: ColumnMapping
    model: str
    step: int | None = None
    fingerprint: str = ""
    best_metric: str = ""
    precision: str = ""


def build_predictions(
    predicted: RowPredictions,
    lines: Sequence[int] | None,
    cells: Mapping[str, Sequence[str]],
    origin: Origin,
    task: str,
    labels: tuple[str, ...],
    metrics: Mapping[str, float],
    numbers: Sequence[int] | None = None,
) -> Predictions:
    """Combine predictions for rows with the cells of all their columns.

    `lines` are those of the file that the rows were read from; None if unknown. `numbers` are the
    rows of the stored split; None: these rows are all of it. Metrics that are
    not finite, such as those of a diverged network, are left out.
    """
    info = PredictionInfo(
        task=task,
        labels=labels,
        **origin._asdict(),
        made=datetime.now(UTC),
        metrics={name: value for name, value in metrics.items() if np.isfinite(value)},
        settings=dict(predicted.settings),
    )
    count = len(predicted.predicted)
    columns = {"row": numbers or np.arange(count), "line": lines or np.zeros(count, np.int64)}
    return Predictions.from_columns(info, columns | predicted.record(), cells)


def _lists(scores: NDArray[np.floating[Any]]) -> "pa.ListArray[Any]":
    count, width = scores.shape
    starts = pa.array(np.arange(count + 1) * width, pa.int32())
    return pa.ListArray.from_arrays(starts, pa.array(scores.astype(np.float32).ravel()))
