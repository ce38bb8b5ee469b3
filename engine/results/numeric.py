"""Predicted against gold numbers, and the margins of choices."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.results.conditions import Between, Conditions
from engine.results.groups import Group, by_figure, by_label, by_width, groups
from engine.results.intervals import Interval, mean_interval
from engine.results.measures import interval, measures
from engine.results.predictions import Predictions
from engine.results.row_figures import figure

RESIDUAL_BINS = 30  # of the histogram of residuals
MARGINS = 10  # groups by margin


@dataclass(frozen=True)
class Numbers:
    """The rows that have both numbers, each array [N]."""

    rows: NDArray[np.int64]  # their indices
    gold: NDArray[np.float64]
    predicted: NDArray[np.float64]
    metrics: dict[str, Interval]  # of the task, by name
    rmse: Interval  # root of the mean squared residual
    mean_residual: float  # predicted minus gold: negative if predictions are too low

    @property
    def residuals(self) -> NDArray[np.float64]:
        """Predicted minus gold, float64 [N]."""
        return self.predicted - self.gold


def numbers(predictions: Predictions) -> Numbers:
    """Gold and predicted numbers with their metrics."""
    gold = figure(predictions, "gold").astype(np.float64)
    predicted = figure(predictions, "predicted").astype(np.float64)
    rows = np.flatnonzero(np.isfinite(gold) & np.isfinite(predicted))
    found = {one.name: interval(one) for one in measures(predictions)}
    residuals = predicted[rows] - gold[rows]
    return Numbers(
        rows,
        gold[rows],
        predicted[rows],
        found,
        Interval(*(float(np.sqrt(max(one, 0.0))) for one in mean_interval(residuals**2))),
        float(residuals.mean()) if len(rows) else float("nan"),
    )


def rectangle(
    gold: tuple[float, float] | None, predicted: tuple[float, float] | None
) -> Conditions:
    """The rows in a rectangle of the predicted-against-gold plot; None: unbounded."""
    found: Conditions = ()
    if gold is not None:
        found += (Between(figure="gold", least=gold[0], most=gold[1]),)
    if predicted is not None:
        found += (Between(figure="predicted", least=predicted[0], most=predicted[1]),)
    return found


def residual_bins(predictions: Predictions, bins: int = RESIDUAL_BINS) -> tuple[Group, ...]:
    """The histogram of residuals."""
    return groups(predictions, by_width(predictions, "residual", bins))


def by_position(predictions: Predictions) -> tuple[Group, ...]:
    """Multiple choice by the index of the right choice: differences show a position bias."""
    return groups(predictions, by_label(predictions))


def by_margin(predictions: Predictions, parts: int = MARGINS) -> tuple[Group, ...]:
    """Groups of about equally many rows, by the margin between the two highest scores."""
    return groups(predictions, by_figure(predictions, "margin", parts))
