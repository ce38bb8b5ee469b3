"""Metrics of ordered labels, by their distance on the scale; N rows, C labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from engine.evaluation import text_classification
from engine.evaluation.measures import Measure, ScoredRows, Sums, mean_measure, sums_measure
from engine.evaluation.text_classification import ClassReport


class OrdinalReport(ClassReport):
    """All metrics of one evaluation."""

    quadratic_kappa: float = Field(description="Cohen's kappa with squared distances; 0 for none.")
    mean_absolute_error: float = Field(description="In steps of the scale.")

    def metrics(self) -> dict[str, float]:
        return {
            "quadratic_kappa": self.quadratic_kappa,
            "mean_absolute_error": self.mean_absolute_error,
            **super().metrics(),
        }

    def lines(self) -> list[str]:
        error = self.mean_absolute_error
        first = f"quadratic weighted kappa {self.quadratic_kappa:.4f}, mean distance {error:.4f}"
        return [first, *super().lines()]


def report(
    logits: ArrayLike, true: ArrayLike, labels: Sequence[str], predicted: NDArray[np.int64]
) -> OrdinalReport:
    """Compute all metrics, as `text_classification.report`.

    Labels that the model does not know are on no scale, and count for the other metrics alone.
    """
    scores, gold = np.asarray(logits), np.asarray(true, dtype=np.int64)
    known = gold < scores.shape[-1]
    moments = _moments(gold[known], predicted[known]).sum(axis=0, keepdims=True)
    distances = np.abs(gold[known] - predicted[known])
    classes = text_classification.report(logits, true, labels, predicted)
    return OrdinalReport(
        **classes.model_dump(),
        quadratic_kappa=float(_kappa(moments)[0]),
        mean_absolute_error=float(distances.mean()) if len(distances) else 0.0,
    )


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """Quadratic weighted kappa, the mean distance, accuracy and macro F1."""
    gold, predicted = rows.codes("gold"), rows.codes("predicted")
    usable = (gold >= 0) & (predicted >= 0) & (gold < rows.model_labels)
    distance = np.where(usable, np.abs(gold - predicted), np.nan)
    return (
        sums_measure("quadratic_kappa", _moments(gold, predicted), usable, _kappa),
        mean_measure("mean_absolute_error", distance, higher_is_better=False),
        *text_classification.measures(rows),
    )


def _moments(gold: NDArray[np.int64], predicted: NDArray[np.int64]) -> NDArray[np.float64]:
    """1, both places, their squares and the squared distance of each row, [N, 5]."""
    x, y = gold.astype(np.float64), predicted.astype(np.float64)
    return np.column_stack([np.ones_like(x), x, y, x * x + y * y, (x - y) ** 2])


def _kappa(sums: Sums) -> NDArray[np.float64]:
    """Weighted kappa with squared distances (Cohen 1968) from moments, [B]; 0 if undefined.

    The distance expected by chance, over all pairs of a true and a predicted label, is
    Σ x² + Σ y² - 2 Σ x Σ y / N.
    """
    n, x, y, squares, observed = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = squares - 2 * x * y / n
        kappa: NDArray[np.float64] = np.where(expected > 0, 1 - observed / expected, 0.0)
    return kappa
