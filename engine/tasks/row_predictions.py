"""What a model said of rows, as the columns that are kept of it; N rows, C labels."""

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
        gold: N texts; None where nobody has labelled the rows.
        probability: float [N], of what was predicted; None where the task has none.
        loss: float [N], NaN where a row has none; None without gold.
        score: float [N]; None without gold, or where no row is right or wrong.
        scores: float [N, C]; None where the task has none for the row as a whole.
        details: N texts of JSON; None where there is nothing more to say.
        settings: what else belongs to what was predicted, by name.
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
        """The columns by name; those that are None are left out."""
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
    """Where rows come from, and who answered them: as in `PredictionInfo`."""

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
) -> Predictions:
    """The predictions for the rows of a part, or of a file, with the cells of all their columns.

    `lines` are those of the file that the rows were read from; None where they are not known. A
    metric that is not finite, as of a network that blew up, is left out.
    """
    facts = PredictionInfo(
        task=task,
        labels=labels,
        **origin._asdict(),
        made=datetime.now(UTC),
        metrics={name: value for name, value in metrics.items() if np.isfinite(value)},
        settings=dict(predicted.settings),
    )
    count = len(predicted.predicted)
    places = {"row": np.arange(count), "line": lines or np.zeros(count, np.int64)}
    return Predictions.of(facts, places | predicted.record(), cells)


def _lists(scores: NDArray[np.floating[Any]]) -> "pa.ListArray[Any]":
    """float [N, C] as N lists."""
    count, width = scores.shape
    starts = pa.array(np.arange(count + 1) * width, pa.int32())
    return pa.ListArray.from_arrays(starts, pa.array(scores.astype(np.float32).ravel()))
