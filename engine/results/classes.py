"""Confusion matrix and scores of each label.

C labels, as `engine.results.labels` numbers them. Rows without gold are left out.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from engine.evaluation import measures
from engine.results.conditions import Conditions, LabelIs
from engine.results.intervals import UNKNOWN, Interval, bootstrap_counts, wilson
from engine.results.labels import codes, is_multi_label, labelled, labels, members
from engine.results.levels import depth, level_counts, nodes_at
from engine.results.predictions import Predictions


@dataclass(frozen=True)
class Confusion:
    """Counts of gold (rows) by predicted labels (columns), int64 [C, C].

    For multi-label rows, the co-occurrences of gold and predicted labels.
    """

    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    level: int = 0  # of nodes of a hierarchy; 0 for whole labels

    @property
    def by_row(self) -> NDArray[np.float64]:
        """Counts as fractions of the gold label, float64 [C, C]; 0 if no row has it."""
        return measures.ratio(self.counts, self.counts.sum(axis=1, keepdims=True))

    @property
    def by_column(self) -> NDArray[np.float64]:
        """Counts as fractions of the predicted label, float64 [C, C]; 0 if never predicted."""
        return measures.ratio(self.counts, self.counts.sum(axis=0, keepdims=True))

    def conditions(self, gold: int | None = None, predicted: int | None = None) -> Conditions:
        """The rows of a cell; None selects a whole row or column."""
        conditions: Conditions = ()
        if gold is not None:
            conditions += (LabelIs(side="gold", label=self.labels[gold], level=self.level),)
        if predicted is not None:
            label = self.labels[predicted]
            conditions += (LabelIs(side="predicted", label=label, level=self.level),)
        return conditions


@dataclass(frozen=True)
class LabelFigures:
    """One label against all others; precision, recall and F1 are NaN if undefined."""

    label: str
    precision: Interval  # Wilson
    recall: Interval  # Wilson
    f1: Interval  # bootstrap over rows
    support: int  # rows that have it
    predicted: int  # rows for which it was predicted
    right: int  # true positives

    @classmethod
    def build(cls, label: str, right: int, predicted: int, support: int, f1: Interval) -> Self:
        precision, recall = wilson(right, predicted), wilson(right, support)
        return cls(label, precision, recall, f1, support, predicted, right)

    @property
    def missed(self) -> Conditions:
        """False negatives."""
        return self._conditions(gold=True, predicted=False)

    @property
    def wrongly_predicted(self) -> Conditions:
        """False positives."""
        return self._conditions(gold=False, predicted=True)

    @property
    def with_label(self) -> Conditions:
        """All rows that have the label."""
        return (LabelIs(side="gold", label=self.label),)

    def _conditions(self, gold: bool, predicted: bool) -> Conditions:
        return (
            LabelIs(side="gold", label=self.label, holds=gold),
            LabelIs(side="predicted", label=self.label, holds=predicted),
        )


def confusion(predictions: Predictions) -> Confusion:
    """The confusion matrix; for multi-label rows, the co-occurrence of gold and predicted.

    Rows without a prediction are in no cell.
    """
    names = labels(predictions)
    if is_multi_label(predictions):
        gold, predicted = (
            members(predictions, side)[labelled(predictions)].astype(np.float64)
            for side in ("gold", "predicted")
        )
        return Confusion(names, np.rint(gold.T @ predicted).astype(np.int64))
    gold_codes, predicted_codes = codes(predictions, "gold"), codes(predictions, "predicted")
    usable = (gold_codes >= 0) & (predicted_codes >= 0)
    counts = measures.confusion(gold_codes[usable], predicted_codes[usable], len(names))
    return Confusion(names, counts)


def level_confusions(predictions: Predictions) -> tuple[Confusion, ...]:
    """The confusion matrix of each level of labels that are paths, from the top."""
    return tuple(
        Confusion(nodes_at(predictions, level)[0], level_counts(predictions, level), level)
        for level in range(1, depth(predictions) + 1)
    )


def label_figures(predictions: Predictions) -> tuple[LabelFigures, ...]:
    """Each label against all others, in the order of `labels`."""
    rows = labelled(predictions)
    has_gold, is_predicted = (members(predictions, side)[rows] for side in ("gold", "predicted"))
    counts = (has.sum(axis=0) for has in (has_gold & is_predicted, is_predicted, has_gold))
    columns = (column.tolist() for column in counts)
    count = int(rows.sum())
    return tuple(
        LabelFigures.build(name, hits, claims, gold, f1_interval(hits, claims, gold, count))
        for name, hits, claims, gold in zip(labels(predictions), *columns, strict=True)
    )


def f1_interval(right: int, predicted: int, support: int, rows: int, seed: int = 0) -> Interval:
    """F1 of one label among N rows, 2 right / (predicted + support), by a bootstrap over rows."""
    if not predicted + support:
        return UNKNOWN
    kinds = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]])  # right, predicted, support
    times = [right, predicted - right, support - right, rows - predicted - support + right]
    return bootstrap_counts(kinds, times, measures.f1_of_sums, seed)
