"""One row in full as text: its cells, its prediction, and details of its task."""

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication

from app.results.rows_model import Column, shown
from app.widgets.text import numbers
from app.widgets.text.labels import visible
from engine.config.tasks import TASKS
from engine.results.answers import best_answers
from engine.results.predictions import CELL, Predictions
from engine.results.spans import RowSpans, row_spans

SHOWN_ANSWERS = 5

translate = QCoreApplication.translate


def row_lines(predictions: Predictions, columns: list[Column], place: int) -> Iterator[str]:
    """The lines of a row, texts first."""
    head = TASKS[predictions.info.task].info.head
    tagged = head is not None and head.tags_tokens
    words = [column for column in columns if not column.is_number]
    words.sort(key=lambda column: not column.key.startswith(CELL))
    for column in words:
        cell = predictions.table[column.key][place].as_py()
        if column.is_measure:
            cell = shown(cell, column)
        if tagged and column.key in ("gold", "predicted") and cell:
            spans = row_spans(predictions, place)
            cell = bracketed(spans, 0 if column.key == "gold" else 1)
        yield f"{column.title}: {visible(str(cell or ''))}"
    if head is not None and head.finds_spans:
        ranked = best_answers(predictions, place)[:SHOWN_ANSWERS]
        text = " · ".join(f"{one.text or '–'} {numbers.percent(one.score)}" for one in ranked)
        yield translate("RowText", "Best answers: {0}").format(visible(text))


def bracketed(spans: RowSpans, side: int) -> str:
    """The words, with each gold (0) or predicted (1) span as “[Rome LOC]”.

    Both are shown one below the other, so that missed and shifted spans are visible.
    """
    begins, ends = {}, {}
    for pair in spans.pairs:
        span = pair[side]
        if span is not None:
            begins[span.start] = True
            ends[span.end - 1] = span.type
    return " ".join(
        ("[" if number in begins else "") + word + (f" {ends[number]}]" if number in ends else "")
        for number, word in enumerate(spans.words)
    )
