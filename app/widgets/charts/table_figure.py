"""A table drawn as a figure for export."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from app.theme import Role, print_color
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.tables import ColumnsModel

ROW, GAP, FONT_SIZE = 22, 16, 12  # px: height of a row, between columns, of the font
MAX_WIDTH = 320  # px per column; longer texts are elided in the middle
MAX_ROWS = 100  # drawn rows; the table of numbers has all


def table_figure(
    model: ColumnsModel[Any],
    name: str,
    title: str,
    caption: str,
    table: Callable[[], Table],
    bar: Callable[[int, Any], tuple[float, Role] | None] = lambda column, row: None,
    max_rows: int = MAX_ROWS,
) -> Figure:
    """The columns of a model as shown, in its order; `table` returns the numbers behind them.

    `bar` returns the fraction and colour of a bar behind a cell, from the right.
    """
    drawn = [model.row(position) for position in range(min(model.rowCount(), max_rows))]
    bars = [[bar(column, row) for column in range(len(model.columns))] for row in drawn]
    cells = [[column.text(row) or "" for row in drawn] for column in model.columns]
    titles = [column.title for column in model.columns]
    right = [column.align_right for column in model.columns]
    metrics = QFontMetricsF(print_font(FONT_SIZE))
    widths = [
        min(max(map(metrics.horizontalAdvance, (heading, *texts))) + 1, MAX_WIDTH)
        for heading, texts in zip(titles, cells, strict=True)
    ]

    def paint(painter: QPainter, _size: QSizeF) -> None:
        painter.setFont(print_font(FONT_SIZE))
        painter.setPen(print_color(Role.MUTED))
        _paint_row(painter, 0, titles, widths, right)
        for position, texts in enumerate(zip(*cells, strict=True), 1):
            _paint_bars(painter, position, bars[position - 1], widths)
            painter.setPen(print_color(Role.TEXT))
            _paint_row(painter, position, texts, widths, right)
        painter.setPen(QPen(print_color(Role.BORDER), 1))
        painter.drawLine(0, ROW, round(sum(widths) + GAP * (len(widths) - 1)), ROW)

    width = sum(widths) + GAP * max(len(widths) - 1, 0)
    size = QSize(round(width), ROW * (1 + len(drawn)))
    return Figure(
        name=name,
        title=title,
        caption=caption,
        size=size,
        paint=paint,
        table=table,
        cells=Table(tuple(titles), list(zip(*cells, strict=True))),
    )


def _paint_bars(
    painter: QPainter,
    position: int,
    bars: Sequence[tuple[float, Role] | None],
    widths: Sequence[float],
) -> None:
    right = 0.0
    for bar, width in zip(bars, widths, strict=True):
        right += width
        if bar is not None:
            length = width * bar[0]
            rect = QRectF(right - length, position * ROW + 3, length, ROW - 6)
            painter.fillRect(rect, print_color(bar[1], 0.3))
        right += GAP


def _paint_row(
    painter: QPainter,
    position: int,
    texts: Sequence[str],
    widths: Sequence[float],
    right: Sequence[bool],
) -> None:
    left = 0.0
    for text, width, at_right in zip(texts, widths, right, strict=True):
        side = Qt.AlignmentFlag.AlignRight if at_right else Qt.AlignmentFlag.AlignLeft
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, round(width))
        box = QRectF(left, position * ROW, width, ROW)
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, shown)
        left += width + GAP
