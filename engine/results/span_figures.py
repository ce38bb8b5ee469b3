"""Span metrics: error kinds, types, and type confusion.

T types of spans; index T means “none”.
"""

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.measures import f1_of_sums
from engine.results.classes import Confusion, LabelFigures
from engine.results.conditions import Conditions, HasSpan
from engine.results.intervals import UNKNOWN, bootstrap
from engine.results.predictions import Predictions
from engine.results.spans import NONE, SPAN_KINDS, SpanKind, span_table


class TypeConfusion(Confusion):
    """Counts of gold spans (rows) by predicted spans (columns), int64 [T + 1, T + 1].

    The last row holds spurious spans, the last column missed ones. Spans with a wrong boundary
    count by their types.
    """

    def conditions(self, gold: int | None = None, predicted: int | None = None) -> Conditions:
        """The rows that have a span of a cell, row or column; only “none” selects nothing."""
        none = len(self.labels) - 1
        types = [None if n is None or n == none else self.labels[n] for n in (gold, predicted)]
        if types == [None, None]:
            return ()
        error: SpanKind | None = "spurious" if gold == none else None
        if predicted == none:
            error = "missed"
        return (HasSpan(error=error, gold=types[0], predicted=types[1]),)


class TypeFigures(LabelFigures):
    """`LabelFigures` for the spans of one type instead of the rows of one label."""

    @property
    def missed(self) -> Conditions:
        return (HasSpan(error="missed", gold=self.label),)

    @property
    def wrongly_predicted(self) -> Conditions:
        return (HasSpan(error="spurious", predicted=self.label),)

    @property
    def with_label(self) -> Conditions:
        return (HasSpan(gold=self.label),)


def kind_counts(predictions: Predictions) -> dict[SpanKind, int]:
    counts = np.bincount(span_table(predictions).kinds, minlength=len(SPAN_KINDS))
    return {kind: int(count) for kind, count in zip(SPAN_KINDS, counts, strict=True)}


def kind_conditions(kind: SpanKind) -> Conditions:
    return (HasSpan(error=kind),)


def type_confusion(predictions: Predictions, none: str = "none") -> TypeConfusion:
    """The confusion matrix of types; `none` is the name of the last row and column."""
    table = span_table(predictions)
    size = len(table.types) + 1
    gold, predicted = (
        np.where(codes == NONE, size - 1, codes) for codes in (table.gold, table.predicted)
    )
    counts = np.bincount(gold * size + predicted, minlength=size * size).astype(np.int64)
    return TypeConfusion((*table.types, none), counts.reshape(size, size))


def type_figures(predictions: Predictions) -> tuple[TypeFigures, ...]:
    """Scores of each type of span, sorted, as in seqeval."""
    return tuple(
        _figures(name, row_parts(predictions, index))
        for index, name in enumerate(span_table(predictions).types)
    )


def row_parts(predictions: Predictions, type_: int | None = None) -> NDArray[np.int64]:
    """Right, predicted and gold spans of each row, int64 [rows, 3].

    `type_` is the index of a type; None: all spans.
    """
    table, rows = span_table(predictions), len(predictions)
    is_gold, is_predicted = (
        codes != NONE if type_ is None else codes == type_
        for codes in (table.gold, table.predicted)
    )
    right = is_gold & (table.kinds == SPAN_KINDS.index("right"))
    masks = (right, is_predicted, is_gold)
    return np.column_stack([np.bincount(table.rows[spans], minlength=rows) for spans in masks])


def _figures(name: str, parts: NDArray[np.int64]) -> TypeFigures:
    right, predicted, support = parts.sum(axis=0).tolist()
    f1 = bootstrap(parts, f1_of_sums) if predicted + support else UNKNOWN
    return TypeFigures.build(name, right, predicted, support, f1)
