"""Figure of a prediction, and the differences of two predictions."""

import numpy as np
from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.panels.predictions.state import PredictionsState
from app.theme import Role
from app.translation import tr
from app.widgets.charts.bars import chance
from app.widgets.charts.figure import Figure, Table, paper_font, print_color
from app.widgets.text.chips import AS_STORED, painted
from app.widgets.text.numbers import decimal
from engine.config.tasks import head_of
from engine.messages.explore.prediction import Predicted
from engine.messages.explore.text import PRECISIONS

ROW, NAME, BAR, NUMBER = 22, 180, 260, 70  # px
MAX_DRAWN_ROWS = 100  # rows drawn
NAMED_DIFFERENCES = 5  # differences named in a sentence


def figure_of(state: PredictionsState) -> Figure | None:
    """The exact answer of one side as bars; None if there is none."""
    if not state.query.require_exact():  # it arrives in a moment
        return None
    answer, model = state.answer, state.side.model
    if answer is None:
        return None
    rows = rows_of(answer)
    drawn = rows[:MAX_DRAWN_ROWS]

    def paint(painter: QPainter, _size: QSizeF) -> None:
        _paint(painter, drawn)

    return Figure(
        name="task-predictions",
        title=tr("{0}: predictions").format(model.name if model else ""),
        caption=tr("Probabilities from 0 to 1, a number as it is. {0}").format(
            source(state.explore, state.side.index)
        ),
        size=QSize(NAME + BAR + NUMBER, max(1, len(drawn)) * ROW),
        paint=paint,
        array=np.array([value for _, value in rows], dtype=np.float32),
        table=lambda: _table(answer, rows),
    )


def rows_of(answer: Predicted) -> list[tuple[str, float]]:
    """Every label, or span of the text, with its probability; or a single number."""
    if answer.predictions:
        return [(one.label, one.probability) for one in answer.predictions[0].ranked]
    rows = [(f"{one.text} {one.label}".strip(), one.probability) for one in answer.spans]
    if answer.value is not None:
        nothing = head_of(answer.task).finds_spans
        rows.append((tr("no answer") if nothing else tr("value"), answer.value))
    return rows


def differences(first: Predicted, second: Predicted) -> list[str]:
    """Changes from the first to the second of what both name, largest first."""
    if head_of(first.task) != head_of(second.task):
        return []
    before, after = dict(rows_of(first)), dict(rows_of(second))
    both = [name for name in before if name in after]
    both.sort(key=lambda name: -abs(after[name] - before[name]))
    is_number = not first.predictions and head_of(first.task).outputs == 1
    found = []
    for name in both[:NAMED_DIFFERENCES]:
        difference = after[name] - before[name]
        said = (
            f"{difference:+.3f}"
            if is_number
            else tr("{0} points").format(f"{100 * difference:+.1f}")
        )
        found.append(f"{painted(name)} {said}")
    return found


def _table(answer: Predicted, rows: list[tuple[str, float]]) -> Table:
    precision = PRECISIONS[answer.computed]
    if answer.predictions or not answer.spans:
        return Table(("label", "value", "precision"), [(*row, precision) for row in rows])
    return Table(
        ("text", "label", "start", "end", "probability", "precision"),
        [
            (one.text, one.label, one.start, one.end, one.probability, precision)
            for one in answer.spans
        ],
    )


def _paint(painter: QPainter, rows: list[tuple[str, float]]) -> None:
    middle = Qt.AlignmentFlag.AlignVCenter
    painter.setFont(paper_font(12))
    for number, (name, value) in enumerate(rows):
        top = number * ROW
        painter.setPen(print_color(Role.TEXT))
        shown = painter.fontMetrics().elidedText(
            painted(name), Qt.TextElideMode.ElideRight, NAME - 8
        )
        left = Qt.AlignmentFlag.AlignLeft | middle | AS_STORED
        painter.drawText(QRectF(0, top, NAME, ROW), left, shown)
        is_share = 0 <= value <= 1
        painter.drawText(
            QRectF(NAME + BAR, top, NUMBER, ROW),
            Qt.AlignmentFlag.AlignRight | middle,
            chance(value) if is_share else decimal(value),
        )
        if is_share:
            painter.fillRect(QRectF(NAME, top + 6, BAR, ROW - 12), print_color(Role.HOVER))
            painter.fillRect(
                QRectF(NAME, top + 6, BAR * value, ROW - 12), print_color(Role.CHART_1)
            )
