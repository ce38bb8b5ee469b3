"""Candidate conditions for slices: properties of rows, never of their predictions.

Gold label, length, columns with few values, frequent words, first word of a question, types of gold
spans; frequency and position of a masked token.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.task import RowFigure
from engine.config.tasks import TASKS
from engine.results.conditions import CellHasWord, Condition, Conditions, HasSpan, mask
from engine.results.groups import (
    by_column,
    by_figure,
    by_first_word,
    by_label,
    by_powers,
    by_quantile,
)
from engine.results.labels import labels
from engine.results.masked_tokens import OCCURRENCES, POSITION
from engine.results.predictions import PredictionInfo, Predictions
from engine.results.row_figures import figure, holds_numbers, text_columns
from engine.results.spans import span_table

MOST_WORDS = 200  # the most frequent ones are tried
NO_WORD = r"[^\pL\pM\pN_]+"


class Candidate(NamedTuple):
    """A condition, its rows, and its subject."""

    condition: Condition
    rows: NDArray[np.bool_]  # [N]
    about: str

    def pairs_with(self, other: "Candidate") -> bool:
        return self.about != other.about


def candidates(
    predictions: Predictions, rows: NDArray[np.int64], min_rows: int
) -> tuple[Candidate, ...]:
    """The conditions that hold for at least `min_rows` of these rows, and for not nearly all.

    Args:
        rows: indices of the N rows, rising.
    """
    some = Predictions(predictions.info, predictions.table.take(rows))
    found = (*_of_rows(some), *_words(some, min_rows))
    return tuple(one for one in found if min_rows <= one.rows.sum() <= len(rows) - min_rows)


def _of_rows(some: Predictions) -> Iterator[Candidate]:
    for about, groups in _groups(some):
        for conditions in groups:
            yield Candidate(conditions[0], mask(some, conditions), about)


def _groups(some: Predictions) -> Iterator[tuple[str, Sequence[Conditions]]]:
    """Groups of rows, each of one condition, by subject."""
    head, mapping = TASKS[some.info.task].info.head, some.info.mapping
    is_labelled = head is not None and (head.labels_inputs or head.scores_choices)
    if is_labelled and len(labels(some)) > 1:
        yield "label", by_label(some)
    if holds_numbers(some.info):
        yield "label", by_figure(some, "gold")
    yield "length", by_figure(some, length_figure(some))
    if head is not None and head.finds_spans and mapping.text in some.columns:
        yield "first word", by_first_word(some, mapping.text)
    if head is None:
        yield "frequency", by_powers(some, OCCURRENCES)
        yield "position", by_quantile(some, POSITION)
        return
    if head.tags_tokens:
        types = span_table(some).types
        yield "type", tuple((HasSpan(gold=name),) for name in types)
    for column in other_columns(some.info, some.columns):
        yield f"column {column}", by_column(some, column)


def other_columns(facts: PredictionInfo, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if column not in facts.mapping.columns)


def length_figure(predictions: Predictions) -> RowFigure:
    """Words if the texts have spaces; else characters, as in Chinese."""
    words, characters = (figure(predictions, name) for name in ("words", "characters"))
    return "words" if characters.sum() <= 15 * words.sum() else "characters"


def _words(some: Predictions, min_rows: int) -> Iterator[Candidate]:
    """Candidates for the words in the most rows, per column."""
    for column in text_columns(some):
        text: Any = pc.utf8_lower(some.cells(column).cast(pa.large_string())).combine_chunks()
        lists = pc.split_pattern_regex(text, NO_WORD)
        rows = pc.list_parent_indices(lists).to_numpy()
        encoded = pc.list_flatten(lists).dictionary_encode()
        words = encoded.dictionary.to_pylist()
        pairs = _distinct(rows * max(len(words), 1) + encoded.indices.to_numpy())  # row and word
        row, word = np.divmod(pairs, max(len(words), 1))
        counts = np.bincount(word, minlength=len(words))
        ranked = np.argsort(-counts, kind="stable")
        usable = [n for n in ranked[: MOST_WORDS + 1] if words[n] and counts[n] >= min_rows]
        for number in usable[:MOST_WORDS]:
            has = np.zeros(len(some), dtype=bool)
            has[row[word == number]] = True
            yield Candidate(CellHasWord(column=column, word=words[number]), has, "word")


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distinct numbers, rising. np.unique hashes them, which is slow for millions and holds the
    GIL."""
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]
