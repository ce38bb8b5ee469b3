"""Base of the Words panel's parts, and the drawings of their figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from app.pages.explore.panels.words.state import WordsState
from app.pages.explore.paper import draw_elided
from app.theme import SIDES, Role, print_color
from app.widgets.charts.bars import percentage
from app.widgets.charts.figure import Figure, paper_font
from app.widgets.text.chips import AS_STORED, token_text

ROW, HEAD, WIDE, GAP = 20.0, 26.0, 250.0, 18.0  # px
MOST_COLUMNS = 4  # side by side


class Asks(Protocol):
    """Asks only while visible."""

    def set_seen(self, seen: bool) -> None: ...


class Part(QWidget):
    """One view of the predictions. It asks only while visible."""

    def __init__(self, state: WordsState, queries: Iterable[Asks]) -> None:
        super().__init__()
        self.state = state
        self._queries = tuple(queries)

    def set_seen(self, seen: bool) -> None:
        for query in self._queries:
            query.set_seen(seen)

    def show_state(self) -> None:
        raise NotImplementedError

    def figure(self) -> Figure | None:
        """Figure of the current content; None if there is none."""
        raise NotImplementedError


@dataclass(frozen=True)
class Column:
    """One position: title, and rows of a label with the probabilities of one or two models."""

    title: str
    rows: tuple[tuple[str, tuple[float | None, ...], bool], ...]  # label, probabilities, emphasised

    @property
    def height(self) -> float:
        return HEAD + sum(
            ROW * max(1, len(values)) * (0.8 if len(values) > 1 else 1)
            for _, values, _ in self.rows
        )


def columns_size(columns: Sequence[Column]) -> QSize:
    """Size of the drawing by `paint_columns`."""
    lines = [columns[n : n + MOST_COLUMNS] for n in range(0, len(columns), MOST_COLUMNS)]
    wide = max((len(line) for line in lines), default=1)
    high = sum(max(column.height for column in line) + GAP for line in lines)
    return QSize(round(wide * (WIDE + GAP) - GAP), round(high))


def paint_columns(painter: QPainter, columns: Sequence[Column], most: float = 1.0) -> None:
    """Draw the columns, a few per row; a full bar is the probability `most`."""
    top = 0.0
    for start in range(0, len(columns), MOST_COLUMNS):
        line = columns[start : start + MOST_COLUMNS]
        for number, column in enumerate(line):
            painter.save()
            painter.translate(number * (WIDE + GAP), top)
            _paint_column(painter, column, most)
            painter.restore()
        top += max(column.height for column in line) + GAP


def _paint_column(painter: QPainter, column: Column, most: float) -> None:
    left, middle = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignVCenter
    painter.setFont(paper_font(13, bold=True))
    painter.setPen(print_color(Role.TEXT))
    painter.drawText(QRectF(0, 0, WIDE, HEAD), left | middle | AS_STORED, token_text(column.title))
    top = HEAD
    for label, values, emphasised in column.rows:
        step = ROW * (0.8 if len(values) > 1 else 1)
        high = step * max(1, len(values))
        painter.setFont(paper_font(12, bold=emphasised))
        painter.setPen(print_color(Role.TEXT))
        draw_elided(painter, QRectF(0, top, 86, high), token_text(label))
        for number, value in enumerate(values):
            line = QRectF(94, top + number * step, WIDE - 94 - 58, step)
            text = "–" if value is None else percentage(value)
            painter.setPen(print_color(Role.TEXT))
            painter.drawText(
                QRectF(WIDE - 58, line.top(), 58, step), Qt.AlignmentFlag.AlignRight | middle, text
            )
            bar = QRectF(line.left(), line.center().y() - 4, line.width(), 8)
            painter.fillRect(bar, print_color(Role.HOVER))
            if value is not None:
                bar.setWidth(max(1.0, bar.width() * min(1.0, value / most)))
                painter.fillRect(bar, print_color(SIDES[number]))
        top += high


def paint_grid(
    painter: QPainter,
    size: QSizeF,
    across: Sequence[str],
    down: Sequence[str],
    cells: Sequence[Sequence[tuple[str, str, float]]],
) -> None:
    """Draw a table of cells with a text, a small text below it, and a tint from 0 to 1."""
    middle = Qt.AlignmentFlag.AlignCenter
    wide = size.width() / (len(across) + 1)
    high = size.height() / (len(down) + 1)
    for row, name in enumerate(["", *down]):
        for column, head in enumerate(["", *across]):
            box = QRectF(column * wide, row * high, wide, high).adjusted(1, 1, -1, -1)
            painter.setPen(print_color(Role.TEXT))
            painter.setFont(paper_font(12, bold=not (row and column)))
            if not row or not column:
                painter.drawText(box, middle | AS_STORED, head if not row else name)
                continue
            text, below, tint = cells[row - 1][column - 1]
            painter.fillRect(box, print_color(Role.ACCENT, 0.05 + 0.55 * tint))
            upper = box.adjusted(0, 2, 0, -high * 0.42)
            painter.drawText(upper, middle | AS_STORED, token_text(text))
            painter.setFont(paper_font(10))
            painter.setPen(print_color(Role.MUTED))
            painter.drawText(box.adjusted(0, high * 0.5, 0, -1), middle, below)
