"""Drawings that figures of several panels have in common."""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter

from app.theme import Role, print_color
from app.widgets.charts.figure import paper_font
from app.widgets.text.chips import AS_STORED

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | AS_STORED
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | AS_STORED
CENTER = Qt.AlignmentFlag.AlignCenter | AS_STORED
ROW, BAR, NUMBER, PAD = 22, 260, 70, 8  # px: height of a row; widths; gap after a name
LETTERS = 11  # px


def draw_elided(
    painter: QPainter, box: QRectF, text: str, align: Qt.AlignmentFlag | int = LEFT
) -> None:
    """Draw a text on one line, ending in “…” if it is too wide."""
    width = round(box.width())
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, width)
    painter.drawText(box, align, shown)


def draw_upright(
    painter: QPainter,
    corner: QPointF,
    size: QSizeF,
    text: str,
    align: Qt.AlignmentFlag | int = LEFT,
) -> None:
    """Draw a text upwards from its lower left corner; `size` is its length and its height."""
    painter.save()
    painter.translate(corner)
    painter.rotate(-90)
    draw_elided(painter, QRectF(QPointF(), size), text, align)
    painter.restore()


def bars_size(rows: int, name_width: int, has_header: bool = True) -> QSize:
    """Size of the drawing by `paint_bars`."""
    return QSize(name_width + BAR + NUMBER, ROW * max(1, rows + has_header))


def paint_bars(
    painter: QPainter,
    rows: Sequence[tuple[str, float | None, str]],
    name_width: int,
    header: tuple[str, str] | None = None,
) -> None:
    """Draw a name, a bar and a number per row.

    Args:
        rows: name, fraction of the full bar or None for no bar, number as text.
        header: titles of the names and of the bars.
    """
    painter.setFont(paper_font(LETTERS))
    if header is not None:
        painter.setPen(print_color(Role.MUTED))
        draw_elided(painter, QRectF(0, 0, name_width - PAD, ROW), header[0])
        draw_elided(painter, QRectF(name_width, 0, BAR, ROW), header[1])
    painter.setPen(print_color(Role.TEXT))
    for number, (name, fraction, text) in enumerate(rows, start=header is not None):
        top = number * ROW
        draw_elided(painter, QRectF(0, top, name_width - PAD, ROW), name)
        painter.drawText(QRectF(name_width + BAR, top, NUMBER, ROW), RIGHT, text)
        if fraction is not None and np.isfinite(fraction):
            track = QRectF(name_width, top + 6, BAR, ROW - 12)
            painter.fillRect(track, print_color(Role.HOVER))
            track.setWidth(BAR * min(max(fraction, 0.0), 1.0))
            painter.fillRect(track, print_color(Role.CHART_1))


def paint_matrix(
    painter: QPainter,
    rows: Sequence[str],
    columns: Sequence[str],
    values: np.ndarray,
    fill: Callable[[float], QColor],
    text: Callable[[float], str],
    sizes: tuple[int, int, int],
) -> None:
    """Draw named rows and columns of coloured numbers; “–” if a number is not finite.

    Args:
        values: float [rows, columns].
        sizes: px of a row's name, of a cell, and of the height of a row.
    """
    name_width, width, height = sizes
    painter.setFont(paper_font(LETTERS))
    painter.setPen(print_color(Role.TEXT))
    for index, column in enumerate(columns):
        box = QRectF(name_width + index * width, 0, width, height)
        draw_elided(painter, box.adjusted(3, 0, -3, 0), column, CENTER)
    for row, name in enumerate(rows):
        top = (row + 1) * height
        draw_elided(painter, QRectF(0, top, name_width - PAD, height), name)
        for index, value in enumerate(values[row].tolist()):
            box = QRectF(name_width + index * width, top, width, height)
            is_known = np.isfinite(value)
            if is_known:
                painter.fillRect(box.adjusted(0.5, 0.5, -0.5, -0.5), fill(value))
            painter.drawText(box, CENTER, text(value) if is_known else "–")
