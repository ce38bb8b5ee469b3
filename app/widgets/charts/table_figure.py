"""A table drawn on paper as a figure."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from app.theme import Role, print_color
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.tables import ColumnsModel

ROW, GAP, LETTERS = 22, 16, 12  # px: height of a row, between columns, of the letters
MAX_WIDTH = 320  # px of a column; longer texts are elided in the middle
MAX_ROWS = 100  # drawn; the table of numbers has all


def table_figure(
    model: ColumnsModel[Any],
    name: str,
    title: str,
    caption: str,
    table: Callable[[], Table],
    bar: Callable[[int, Any], tuple[float, Role] | None] = lambda column, row: None,
    max_rows: int = MAX_ROWS,
) -> Figure:
    """The columns of a model as shown, in its order; `table` gives the numbers behind them.

    `bar` gives the fraction and colour of a bar behind a cell, from the right.
    """
    drawn = [model.row(position) for position in range(min(model.rowCount(), max_rows))]
    bars = [[bar(column, row) for column in range(len(model.columns))] for row in drawn]
    cells = [[column.text(row) or "" for row in drawn] for column in model.columns]
    titles = [column.title for column in model.columns]
    right = [column.align_right for column in model.columns]
    metrics = QFontMetricsF(paper_font(LETTERS))
    widths = [
        min(max(map(metrics.horizontalAdvance, (heading, *texts))) + 1, MAX_WIDTH)
        for heading, texts in zip(titles, cells, strict=True)
    ]

    def paint(painter: QPainter, _size: QSizeF) -> None:
        painter.setFont(paper_font(LETTERS))
        painter.setPen(print_color(Role.MUTED))
        _paint_row(painter, 0, titles, widths, right)
        for number, texts in enumerate(zip(*cells, strict=True), 1):
            _paint_bars(painter, number, bars[number - 1], widths)
            painter.setPen(print_color(Role.TEXT))
            _paint_row(painter, number, texts, widths, right)
        painter.setPen(QPen(print_color(Role.BORDER), 1))
        painter.drawLine(0, ROW, round(sum(widths) + GAP * (len(widths) - 1)), ROW)

    width = sum(widths) + GAP * max(len(widths) - 1, 0)
    size = QSize(round(width), ROW * (1 + len(drawn)))
    return Figure(name=name, title=title, caption=caption, size=size, paint=paint, table=table)


def _paint_bars(
    painter: QPainter,
    number: int,
    bars: Sequence[tuple[float, Role] | None],
    widths: Sequence[float],
) -> None:
    right = 0.0
    for bar, width in zip(bars, widths, strict=True):
        right += width
        if bar is not None:
            long = width * bar[0]
            room = QRectF(right - long, number * ROW + 3, long, ROW - 6)
            painter.fillRect(room, print_color(bar[1], 0.3))
        right += GAP


def _paint_row(
    painter: QPainter,
    number: int,
    texts: Sequence[str],
    widths: Sequence[float],
    right: Sequence[bool],
) -> None:
    left = 0.0
    for text, width, at_right in zip(texts, widths, right, strict=True):
        side = Qt.AlignmentFlag.AlignRight if at_right else Qt.AlignmentFlag.AlignLeft
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, round(width))
        box = QRectF(left, number * ROW, width, ROW)
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, shown)
        left += width + GAP
