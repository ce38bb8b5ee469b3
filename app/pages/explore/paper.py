"""Drawing functions shared by the figures of several panels."""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter

from app.theme import Role, print_color
from app.widgets.charts.figure import print_font
from app.widgets.text.chips import AS_STORED

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | AS_STORED
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | AS_STORED
CENTER = Qt.AlignmentFlag.AlignCenter | AS_STORED
PAD = 8  # px after a name
FONT_SIZE = 11  # px


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
        sizes: width of a row's name, width of a cell and height of a row, in px.
    """
    name_width, width, height = sizes
    painter.setFont(print_font(FONT_SIZE))
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
