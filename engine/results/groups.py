"""Scores of groups of rows: by a number of the row, by a label, by a column, by a first word.

A group has the conditions that select it, and its score with an interval.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.task import RowFigure
from engine.config.tasks import TASKS
from engine.phrases import Phrase, phrase
from engine.results import row_figures
from engine.results.conditions import (
    Between,
    CellBetween,
    CellHasWord,
    CellIs,
    Conditions,
    LabelIs,
    mask,
    sentence,
)
from engine.results.intervals import Interval, mean_interval
from engine.results.labels import codes, labels
from engine.results.predictions import Predictions

MAX_VALUES = 20  # columns with more values have no groups
MAX_FIRST_WORDS = 8  # groups of questions
QUANTILES = 8  # groups of about equally many rows
FIRST_WORD = r"^[^\pL\pM\pN_]*(?P<word>[\pL\pM\pN_]+)"


@dataclass(frozen=True)
class Group:
    """A group of rows and its mean score; NaN if no row has a score."""

    conditions: Conditions
    count: int
    score: Interval

    @property
    def name(self) -> Phrase:
        return sentence(self.conditions)


@dataclass(frozen=True)
class RowScores:
    """One number per row: correctness, F1, or absolute error (lower is better)."""

    values: row_figures.Floats  # [rows], NaN for none
    name: Phrase
    higher_is_better: bool

    @property
    def is_binary(self) -> bool:
        """Each row is either right or wrong."""
        scores = self.values[~np.isnan(self.values)]
        return bool(((scores == 0) | (scores == 1)).all()) and self.higher_is_better


@row_figures.cached_per_table
def row_scores(predictions: Predictions) -> RowScores:
    """The score by which the rows of a task are compared."""
    if row_figures.holds_numbers(predictions.info):
        return RowScores(
            np.abs(row_figures.figure(predictions, "residual")), phrase("mean error"), False
        )
    is_partial = TASKS[predictions.info.task].info.has_partial_scores
    name = phrase("mean F1 of the rows") if is_partial else phrase("fraction of correct rows")
    return RowScores(row_figures.figure(predictions, "score"), name, True)


def group(predictions: Predictions, conditions: Conditions) -> Group:
    return score_group(predictions, conditions, mask(predictions, conditions))


def score_group(predictions: Predictions, conditions: Conditions, rows: NDArray[np.bool_]) -> Group:
    """`group` with the mask of its rows, bool [rows]."""
    return Group(conditions, int(rows.sum()), mean_interval(row_scores(predictions).values[rows]))


def groups(predictions: Predictions, by: Iterable[Conditions]) -> tuple[Group, ...]:
    scored = (group(predictions, conditions) for conditions in by)
    return tuple(item for item in scored if item.count)


def by_label(predictions: Predictions) -> tuple[Conditions, ...]:
    return tuple((LabelIs(side="gold", label=label),) for label in labels(predictions))


def by_figure(predictions: Predictions, name: RowFigure, parts: int = 4) -> tuple[Conditions, ...]:
    """Groups of about equally many rows, by a number of the row; fewer if many are equal."""
    return _ranges(name, row_figures.quantile_starts(row_figures.figure(predictions, name), parts))


def by_width(predictions: Predictions, name: RowFigure, bins: int) -> tuple[Conditions, ...]:
    """Groups of equal width, by a number of the row."""
    values = row_figures.figure(predictions, name)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return ()
    edges = np.histogram_bin_edges(finite.astype(np.float64), bins)
    return _ranges(name, [float(edge) for edge in edges[:-1]])


def by_column(predictions: Predictions, column: str) -> tuple[Conditions, ...]:
    """A group for each value of a column, most frequent first; none if it has many values."""
    counts = _count_values(predictions.cells(column))
    if not 2 <= len(counts) <= MAX_VALUES:
        return ()
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    return tuple((CellIs(column=column, value=value),) for value in ranked)


def by_powers(predictions: Predictions, column: str) -> tuple[Conditions, ...]:
    """Groups by the power of ten of the number in a column's cells: 0, 1 to 9, 10 to 99, …"""
    highest = np.nanmax(row_figures.parse_numbers(predictions.cells(column)), initial=0)
    edges = [10.0**power for power in range(len(str(int(highest))))]
    return (
        (CellBetween(column=column, most=1),),
        *((CellBetween(column=column, least=edge, most=edge * 10),) for edge in edges),
    )


def by_quantile(predictions: Predictions, column: str) -> tuple[Conditions, ...]:
    """Groups of about equally many rows, by the number in a column's cells."""
    starts = row_figures.quantile_starts(
        row_figures.parse_numbers(predictions.cells(column)), QUANTILES
    )
    ends = [*starts[1:], None]
    return tuple(
        (CellBetween(column=column, least=start, most=end),)
        for start, end in zip(starts, ends, strict=True)
    )


def worst_labels(predictions: Predictions, min_rows: int, count: int) -> tuple[Conditions, ...]:
    """The gold labels whose rows have the highest mean loss, of those with enough rows."""
    gold, losses = codes(predictions, "gold"), row_figures.figure(predictions, "loss")
    has_gold = gold >= 0
    counts, sums = np.bincount(gold[has_gold]), np.bincount(gold[has_gold], losses[has_gold])
    frequent = np.flatnonzero(counts >= min_rows)
    ranked = frequent[np.argsort(-(sums[frequent] / counts[frequent]), kind="stable")][:count]
    names = labels(predictions)
    return tuple((LabelIs(side="gold", label=names[label]),) for label in ranked)


def by_first_word(predictions: Predictions, column: str) -> tuple[Conditions, ...]:
    """Groups by the most frequent first words of a column, as kinds of questions."""
    words = pc.extract_regex(pc.utf8_lower(predictions.cells(column)), FIRST_WORD)
    counts = _count_values(pc.struct_field(words, "word")).most_common(MAX_FIRST_WORDS)
    return tuple((CellHasWord(column=column, word=word, first=True),) for word, _ in counts)


def _count_values(column: Any) -> Counter[str]:
    counts = pc.value_counts(column)
    pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return Counter({value: count for value, count in pairs if value is not None and count})


def _ranges(name: RowFigure, starts: Sequence[float]) -> tuple[Conditions, ...]:
    """Ranges from each start to the next; the first and last are open."""
    return tuple(
        (
            Between(
                figure=name,
                least=starts[index] if index else None,
                most=starts[index + 1] if index + 1 < len(starts) else None,
            ),
        )
        for index in range(len(starts))
    )
