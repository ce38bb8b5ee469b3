"""Metrics of regression; N examples."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from engine.evaluation.measures import Floats, Measure, ScoredRows, Sums, mean, mean_measure
from engine.evaluation.report import Report


class RegressionReport(Report):
    """All metrics of one evaluation; 0 without examples.

    A correlation is 0 if one side is constant. Metrics are only infinite or NaN if
    numbers are, as for a diverged network.
    """

    examples: int
    pearson: float = Field(description="Linear correlation, from -1 to 1.")
    spearman: float = Field(description="Rank correlation, from -1 to 1.")
    mean_squared_error: float = Field(description="In the unit of the numbers, squared.")
    mean_absolute_error: float = Field(description="In the unit of the numbers.")

    def metrics(self) -> dict[str, float]:
        return {
            "pearson": self.pearson,
            "spearman": self.spearman,
            "mean_absolute_error": self.mean_absolute_error,
            "loss": self.mean_squared_error,
            "examples": self.examples,
        }

    def lines(self) -> list[str]:
        return [
            f"Pearson {self.pearson:.4f}, Spearman {self.spearman:.4f} ({self.examples} rows)",
            f"mean squared error {self.mean_squared_error:.4f}",
            f"mean absolute error {self.mean_absolute_error:.4f}",
        ]


def report(predicted: ArrayLike, true: ArrayLike) -> RegressionReport:
    """Compute all metrics of N examples, float [N] each, in float64.

    Raises:
        ValueError: if the numbers of predictions and examples differ.
    """
    predictions = np.asarray(predicted, dtype=np.float64).reshape(-1)
    truths = np.asarray(true, dtype=np.float64).reshape(-1)
    if len(predictions) != len(truths):
        raise ValueError(f"{len(predictions)} predictions for {len(truths)} examples")
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.abs(predictions - truths)
        return RegressionReport(
            examples=len(truths),
            pearson=pearson(predictions, truths),
            spearman=spearman(predictions, truths),
            mean_squared_error=mean(errors**2),
            mean_absolute_error=mean(errors),
        )


def pearson(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The Pearson (1895) correlation of [N] and [N].

    0 if a side is constant or N is below 2; NaN if a number is not finite.
    """
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("nan")
    if len(a) < 2 or a.min() == a.max() or b.min() == b.max():
        return 0.0
    x, y = _centre(a), _centre(b)
    return float(np.clip((x / np.linalg.norm(x)) @ (y / np.linalg.norm(y)), -1, 1))


def _centre(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre and scale, so that squares neither overflow nor vanish."""
    scaled = values / np.abs(values).max()
    centred: NDArray[np.float64] = scaled - scaled.mean()
    return centred


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The Spearman (1904) rank correlation; otherwise as `pearson`."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("nan")
    return pearson(ranks(a), ranks(b))


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks in rising order from 1, float64 [N]; equal values share the mean of their ranks."""
    _, kind, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: NDArray[np.float64] = last - (counts - 1) / 2
    return middle[kind]


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """Both correlations and the mean absolute error, of the rows whose numbers are finite."""
    gold, predicted = rows.figure("gold"), rows.figure("predicted")
    usable = np.isfinite(gold) & np.isfinite(predicted)
    x, y = (_shift_to_mean_0(np.where(usable, values, 0), usable) for values in (gold, predicted))
    kinds = np.where(usable, np.arange(len(usable)), -1)  # no two rows are alike
    a, b = (_centred_ranks(values, usable) for values in (gold, predicted))
    distance = np.abs(rows.figure("residual"))
    return (
        Measure("pearson", kinds, _moments(x, y), _correlation),
        Measure("spearman", kinds, _moments(a, b), _correlation),
        mean_measure("mean_absolute_error", distance, higher_is_better=False),
    )


def _shift_to_mean_0(values: Floats, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Shift to mean 0, so that the squares of large numbers keep their digits."""
    mean = values[usable].mean(dtype=np.float64) if usable.any() else 0.0
    return np.asarray(values, dtype=np.float64) - mean


def _centred_ranks(values: Floats, usable: NDArray[np.bool_]) -> Sums:
    """Ranks among all rows, shifted to mean 0, [N].

    Bootstrap samples reuse them, which is accurate to first order.
    """
    ranked = np.zeros(len(values))
    if usable.any():
        ranked[usable] = ranks(np.asarray(values, dtype=np.float64)[usable])
    return _shift_to_mean_0(ranked, usable)


def _moments(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moments of a correlation: 1, x, y, xx, yy and xy of each row, [N, 6]."""
    return np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])


def _correlation(sums: Sums) -> NDArray[np.float64]:
    """Pearson from moments, [B]; 0 if a side is constant."""
    n, x, y, xx, yy, xy = sums.T
    spread = np.maximum(0, n * xx - x * x) * np.maximum(0, n * yy - y * y)
    constant = spread <= 1e-20 * (n * xx) * (n * yy)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation: NDArray[np.float64] = np.where(constant, 0, (n * xy - x * y) / np.sqrt(spread))
    return np.clip(correlation, -1, 1)
