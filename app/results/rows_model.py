"""Columns of the rows of predictions; a row is an index in their table."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtGui import QColor

from app.theme import Role, colour
from app.translation import tr
from app.widgets.tables import Column
from app.widgets.text import numbers
from app.widgets.text.labels import visible
from app.widgets.text.tagged import CHIPS, Chip, chips, tag_types, word_spans
from engine.config.tasks import TASKS
from engine.data.columns.tags import Span
from engine.data.columns.words import split_words
from engine.results.masked_tokens import OCCURRENCES, POSITION, TEXT
from engine.results.predictions import CELL, Predictions
from engine.results.row_figures import holds_numbers
from engine.results.spans import labels_spans, row_spans, spans_in_row

MAX_EXACT_CHARACTERS = 5  # longer numbers are rounded
MAX_CELL_CHARACTERS = 300  # the details show the whole cell
RIGHT, WRONG = "✓", "✗"
FRACTIONS = ("probability", "score")
NUMBERS = (*FRACTIONS, "loss", "row")
MEASURES = ("gold", "predicted")  # numbers of a regression, tags of words


@dataclass(frozen=True, kw_only=True)
class RowColumn(Column[int]):
    """A column of the list. `key` is its name in the table of predictions."""

    key: str
    is_measure: bool = False  # a text that is a number of the model or the data

    @property
    def is_number(self) -> bool:
        return self.key in NUMBERS


def row_columns(
    predictions: Predictions, corrected: Callable[[int], str | None] = lambda _: None
) -> list[RowColumn]:
    """Columns of predictions, texts and other cells, except those without any value.

    `corrected` returns the corrected label of a row, if it has one.
    """
    measured = MEASURES if holds_numbers(predictions.info) else ()
    titles = {
        "score": tr("Correct"),
        "gold": tr("True number") if measured else tr("True label"),
        "predicted": tr("Predicted"),
        "probability": tr("Probability"),
    }
    table = predictions.table
    filled = (key for key in titles if table[key].null_count < len(predictions))
    columns = [_column(predictions, key, titles[key], key in measured) for key in filled]
    if marks_text(predictions):
        columns = [_with_chips(predictions, column, corrected) for column in columns]
    columns = [_with_corrections(c, corrected) if c.key == "gold" else c for c in columns]
    texts = [name for name in predictions.info.mapping.texts if name in predictions.columns]
    others = [name for name in predictions.columns if name not in texts]
    cells = [
        _column(predictions, CELL + name, _title(name, predictions)) for name in (*texts, *others)
    ]
    columns += cells[: len(texts)]
    if table["loss"].null_count < len(predictions):
        columns.append(_column(predictions, "loss", tr("Loss")))
    return [*columns, *cells[len(texts) :], _column(predictions, "row", tr("Row"))]


def marks_text(predictions: Predictions) -> bool:
    """True if gold and predicted are tags of words, or spans."""
    head = TASKS[predictions.info.task].info.head
    return head is not None and head.marks_text


def corrected_spans(predictions: Predictions, row: int, label: str) -> list[Span]:
    """The spans of a corrected label of a row: tags of its words, or spans of its text."""
    if labels_spans(predictions):
        return spans_in_row(predictions, row, label)
    return word_spans(split_words(label))


def _with_chips(
    predictions: Predictions, column: RowColumn, corrected: Callable[[int], str | None]
) -> RowColumn:
    """The column with its spans, if it has tags; true ones as corrected."""
    if column.key not in MEASURES:
        return column
    side, types = MEASURES.index(column.key), tag_types(predictions.info.labels)

    def spans(row: int) -> tuple[Chip, ...]:
        found, tags = row_spans(predictions, row), None if side else corrected(row)
        if tags is not None:
            return chips(found.words, corrected_spans(predictions, row, tags), types)
        shown = [pair[side] for pair in found.pairs]
        return chips(found.words, [span for span in shown if span is not None], types)

    return replace(column, roles={CHIPS: spans})


def _with_corrections(column: RowColumn, corrected: Callable[[int], str | None]) -> RowColumn:
    """A column of labels that shows corrected ones after an arrow."""

    def text(row: int) -> str | None:
        label, shown = corrected(row), column.text(row)
        return shown if label in (None, shown) else f"{shown} → {visible(str(label))}"

    def color(row: int) -> QColor | None:
        return None if corrected(row) in (None, column.text(row)) else colour(Role.ACCENT)

    return replace(column, text=text, color=color)


def _title(column: str, predictions: Predictions) -> str:
    """Title of a data column; columns of masked tokens have translated titles."""
    titles = {TEXT: tr("Text"), POSITION: tr("Position"), OCCURRENCES: tr("Occurrences")}
    if TASKS[predictions.info.task].info.is_pretraining and column in titles:
        return titles[column]
    return visible(column[:100])


def _column(predictions: Predictions, key: str, title: str, is_measure: bool = False) -> RowColumn:
    cells, is_number = predictions.table[key], key in NUMBERS

    def text(row: int) -> str:
        value = cells[row].as_py()
        return "" if value is None else str(value)

    def verdict(row: int) -> QColor | None:
        score = cells[row].as_py()
        return None if score is None else colour(Role.GOOD if score >= 1 else Role.BAD)

    return RowColumn(
        title,
        lambda row: format_value(cells[row].as_py(), key, is_measure),
        value=text,
        tooltip=None if is_number else text,
        color=verdict if key == "score" else None,
        align_right=is_number or is_measure,
        meaning=title,
        key=key,
        is_measure=is_measure,
    )


def format_value(value: Any, key: str, is_measure: bool = False) -> str:
    """Format a value of the column `key` as one line of the list."""
    if value is None:
        return ""
    if key == "score" and value in (0, 1):
        return RIGHT if value else WRONG
    if key in FRACTIONS:
        return numbers.percent(value)
    if key == "loss":
        return numbers.decimal(value, 3)
    if key == "row":
        return numbers.count(value + 1)
    if is_measure and len(value) > MAX_EXACT_CHARACTERS:
        return numbers.decimal(float(value), 3)
    text = visible(str(value)[:MAX_CELL_CHARACTERS]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{text}…" if len(str(value)) > MAX_CELL_CHARACTERS else text
