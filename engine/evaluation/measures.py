"""Metrics as functions of sums over rows, which reports, intervals and comparisons share.

N rows, U kinds of rows, K sums, B samples of rows, C labels. Rows of a kind add the same to every
sum, as all rows of one gold and one predicted class do, so that a metric of any sample of rows is a
function of the sums. The names of metrics are those of `engine.config.tasks`.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.config.task import RowFigure

Sums = NDArray[np.float64]  # [B, K]
Floats = NDArray[np.float32] | NDArray[np.float64]
Side = Literal["gold", "predicted"]
SIDES: tuple[Side, ...] = get_args(Side)


class ScoredRows(Protocol):
    """Gold and predictions of N rows, as `engine.results` reads them from a file."""

    @property
    def metrics(self) -> Container[str]:
        """Names of the metrics of the report."""

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """The rows with gold, bool [N]."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The C labels."""

    @property
    def model_labels(self) -> int:
        """Number of the labels that the model knows, the first of the C."""

    @property
    def details(self) -> Sequence[dict[str, Any]]:
        """Task-specific data of each row."""

    @property
    def are_spans(self) -> bool:
        """True if tags name spans, not classes of words."""

    @property
    def span_counts(self) -> NDArray[np.int64]:
        """Right, predicted and gold spans of each row by type, or words by tag, [N, 3, C]."""

    def figure(self, name: RowFigure) -> Floats:
        """A number of each row, [N]."""

    def codes(self, side: Side) -> NDArray[np.int64]:
        """The label index of each row, [N]; -1 for none."""

    def members(self, side: Side) -> NDArray[np.bool_]:
        """The labels of each row, bool [N, C]."""


@dataclass(frozen=True)
class Measure:
    """One metric of a task over N rows."""

    name: str
    kinds: NDArray[np.int64]  # [N], row of `parts`; -1 if a row has no gold
    parts: NDArray[np.float64]  # [U, K]
    compute: Callable[[Sums], NDArray[np.float64]]  # [B, K] → [B]
    higher_is_better: bool = True

    def value(self) -> float:
        """The metric over all rows with gold; NaN without any."""
        used, times = np.unique(self.kinds[self.kinds >= 0], return_counts=True)
        return float(self.compute((times @ self.parts[used])[None])[0]) if len(used) else np.nan

    def over(self, rows: NDArray[np.int64]) -> "Measure":
        """The same metric over some of the rows, by their indices."""
        return Measure(self.name, self.kinds[rows], self.parts, self.compute, self.higher_is_better)


def sums_measure(
    name: str,
    parts: ArrayLike,
    usable: NDArray[np.bool_],
    compute: Callable[[Sums], NDArray[np.float64]],
) -> Measure:
    """Make a measure of each row's part of the sums, [N, K], and the rows that count, bool [N]."""
    table = np.asarray(parts, dtype=np.float64)
    kinds = np.full(len(table), -1, dtype=np.int64)
    distinct, kinds[usable] = np.unique(table[usable], axis=0, return_inverse=True)
    return Measure(name, kinds, distinct, compute)


def mean_measure(name: str, values: ArrayLike, higher_is_better: bool = True) -> Measure:
    """The mean of the finite values, [N]."""
    array = np.asarray(values, dtype=np.float64)
    usable, kinds = np.isfinite(array), np.full(len(array), -1, dtype=np.int64)
    distinct, kinds[usable] = np.unique(array[usable], return_inverse=True)
    parts = np.column_stack([distinct, np.ones_like(distinct)])
    return Measure(name, kinds, parts, ratio_of_sums, higher_is_better)


# ── functions of sums ────────────────────────────────────────────────────────────────────────


def ratio_of_sums(sums: Sums) -> NDArray[np.float64]:
    """A fraction or a mean from [B, 2], [B]."""
    with np.errstate(invalid="ignore"):
        quotients: NDArray[np.float64] = sums[:, 0] / sums[:, 1]
    return quotients


def f1_of_sums(sums: Sums) -> NDArray[np.float64]:
    """F1 from true positives, predicted and gold, float64 [..., 3]; NaN if all are 0."""
    with np.errstate(invalid="ignore"):
        f1: NDArray[np.float64] = 2 * sums[..., 0] / (sums[..., 1] + sums[..., 2])
    return f1


def f1_or_0(sums: Sums) -> NDArray[np.float64]:
    """`f1_of_sums`, but 0 if all are 0."""
    return np.nan_to_num(f1_of_sums(sums), nan=0.0)


def micro_f1(sums: Sums, count: int) -> NDArray[np.float64]:
    """Micro F1 from [B, 3 C]: true positives, predicted and gold of each label, [B]."""
    return f1_or_0(sums.reshape(len(sums), 3, count).sum(axis=2))


def macro_f1(sums: Sums, count: int, over_all: bool = False) -> NDArray[np.float64]:
    """The mean F1 of the labels that occur, or of all with 0 for the others; as `micro_f1`."""
    f1 = f1_of_sums(np.moveaxis(sums.reshape(len(sums), 3, count), 1, 2))  # [B, C]
    divisors = np.full(len(f1), count) if over_all else (~np.isnan(f1)).sum(axis=1)
    score: NDArray[np.float64] = np.nansum(f1, axis=1) / np.maximum(divisors, 1)
    return score


# ── counts ───────────────────────────────────────────────────────────────────────────────────


class LabelScores(NamedTuple):
    """Each label against all others, float64 [C]; 0 if undefined."""

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]


def label_scores(right: ArrayLike, predicted: ArrayLike, support: ArrayLike) -> LabelScores:
    f1 = f1_or_0(np.stack([right, predicted, support], axis=-1).astype(np.float64))
    return LabelScores(ratio(right, predicted), ratio(right, support), f1)


def ratio(part: ArrayLike, total: ArrayLike) -> NDArray[np.float64]:
    """`part / total`, 0 if `total` is 0; they broadcast."""
    out = np.zeros(np.broadcast_shapes(np.shape(part), np.shape(total)))
    return np.divide(part, total, out=out, where=np.asarray(total) > 0)


def mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def confusion(
    gold: NDArray[np.int64], predicted: NDArray[np.int64], classes: int
) -> NDArray[np.int64]:
    """Counts of gold classes (rows) by predicted classes (columns), int64 [C, C]."""
    counts = np.bincount(gold * classes + predicted, minlength=classes * classes)
    return counts.reshape(classes, classes).astype(np.int64)


class Ranking(NamedTuple):
    """Counts at each of P different scores, from the highest to the lowest, each [P]."""

    scores: Floats
    true_positives: NDArray[np.int64]  # rows at or above the score that have the label
    false_positives: NDArray[np.int64]  # other rows at or above the score


def ranking(scores: Floats, truth: NDArray[np.bool_]) -> Ranking:
    """Rank rows by their scores, [N], of a label that rows have or not, bool [N].

    Rows with equal scores are taken together; NaN ranks last.
    """
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    order = np.argsort(-ranked, kind="stable")
    falling = ranked[order]
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], True)[: len(falling)])
    hits = np.cumsum(truth[order])[last].astype(np.int64)
    return Ranking(falling[last], hits, last + 1 - hits)


def average_precision(
    true_positives: NDArray[np.int64], false_positives: NDArray[np.int64]
) -> float:
    """The precision at each score of a `Ranking`, weighted by the recall it adds.

    As in scikit-learn, without interpolation; NaN if no row has the label.
    """
    if not len(true_positives) or not true_positives[-1]:
        return float("nan")
    gained = np.diff(true_positives, prepend=0) / true_positives[-1]
    return float((gained * true_positives / (true_positives + false_positives)).sum())
