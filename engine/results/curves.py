"""Precision-recall and ROC curves of a label, and its best threshold.

N rows, P different scores. A row is predicted to have the label if its score is at least the
threshold.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.measures import average_precision, ranking
from engine.results.conditions import Conditions, ScoreBetween
from engine.results.labels import labelled, labels, members
from engine.results.predictions import Predictions
from engine.results.row_figures import Floats

MAX_POINTS = 2_000  # more than a chart is pixels wide


class AtThreshold(NamedTuple):
    """Scores at one threshold."""

    threshold: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Curve:
    """Counts at each threshold, from the highest to the lowest, each [P]."""

    label: str
    thresholds: Floats  # in the precision of the scores
    true_positives: NDArray[np.int64]  # rows at or above the threshold that have the label
    false_positives: NDArray[np.int64]  # other rows at or above the threshold
    positives: int  # rows that have the label
    negatives: int

    @property
    def precision(self) -> NDArray[np.float64]:
        """Precision at each threshold, float64 [P]."""
        return self.true_positives / (self.true_positives + self.false_positives)

    @property
    def recall(self) -> NDArray[np.float64]:
        """Recall at each threshold, float64 [P]; NaN without positives."""
        return _ratio(self.true_positives, self.positives)

    @property
    def false_positive_rate(self) -> NDArray[np.float64]:
        """False-positive rate at each threshold, float64 [P]; NaN without negatives."""
        return _ratio(self.false_positives, self.negatives)

    @property
    def f1(self) -> NDArray[np.float64]:
        """F1 at each threshold, float64 [P]."""
        predicted = self.true_positives + self.false_positives
        return 2 * self.true_positives / (predicted + self.positives)

    @property
    def average_precision(self) -> float:
        """Average precision as in scikit-learn; NaN without positives."""
        return average_precision(self.true_positives, self.false_positives)

    @property
    def auc(self) -> float:
        """The area under the ROC curve by trapezoids; NaN without positives or negatives.

        The probability that a row with the label scores higher than one without (Hanley and McNeil
        1982).
        """
        if not self.positives or not self.negatives:
            return float("nan")
        width = np.diff(self.false_positives, prepend=0).astype(np.float64)
        height = self.true_positives - np.diff(self.true_positives, prepend=0) / 2
        return float((width * height).sum() / (self.positives * self.negatives))

    @property
    def best(self) -> AtThreshold | None:
        """The highest threshold with the highest F1; None without positives."""
        if not self.positives:
            return None
        return self.at(float(self.thresholds[int(np.argmax(self.f1))]))

    def at(self, threshold: float) -> AtThreshold:
        """Scores at any threshold; precision is NaN if no row is at or above it."""
        reached = int((self.thresholds >= threshold).sum())
        right, wrong = (
            (int(self.true_positives[reached - 1]), int(self.false_positives[reached - 1]))
            if reached
            else (0, 0)
        )
        nan = float("nan")
        return AtThreshold(
            threshold,
            right / (right + wrong) if reached else nan,
            right / self.positives if self.positives else nan,
            2 * right / (right + wrong + self.positives) if right + wrong + self.positives else nan,
        )

    def downsample(self, points: int = MAX_POINTS) -> "Curve":
        """The curve at no more than `points` thresholds, including the first and last."""
        if len(self.thresholds) <= points:
            return self
        indices = np.unique(np.linspace(0, len(self.thresholds) - 1, points).astype(np.int64))
        return Curve(
            self.label,
            self.thresholds[indices],
            self.true_positives[indices],
            self.false_positives[indices],
            self.positives,
            self.negatives,
        )

    def above(self, threshold: float) -> Conditions:
        return (ScoreBetween(label=self.label, least=threshold),)

    def below(self, threshold: float) -> Conditions:
        return (ScoreBetween(label=self.label, most=threshold),)


def label_curve(predictions: Predictions, label: str) -> Curve:
    """The curve of one label of a single-label or multi-label classification.

    Args:
        label: one of the labels of the predictions.
    """
    rows = labelled(predictions)
    scores = predictions.scores[rows, predictions.info.labels.index(label)]
    truth = members(predictions, "gold")[rows, labels(predictions).index(label)]
    return curve(scores, truth, label)


def curve(scores: Floats, truth: NDArray[np.bool_], label: str = "") -> Curve:
    """The curve of scores, [N], and of the presence of the label in each row, bool [N].

    Rows with equal scores are grouped; NaN ranks last.
    """
    ranked, true_positives, false_positives = ranking(scores, truth)
    return Curve(
        label=label,
        thresholds=ranked,
        true_positives=true_positives,
        false_positives=false_positives,
        positives=int(truth.sum()),
        negatives=int((~truth).sum()),
    )


def _ratio(counts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    return counts / total if total else np.full(len(counts), np.nan)
