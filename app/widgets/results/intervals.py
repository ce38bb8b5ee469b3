"""Scores with the ends of their 95 % interval: 82.1 (79.0 to 85.0).

Not ±, since intervals of few rows are asymmetric: 1 of 18 has 1.0 to 25.8.
"""

import math
from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import SPACE, Role, colour
from app.translation import tr
from app.widgets.tables import Index
from app.widgets.text import numbers
from engine.results.intervals import Interval

# roles of the lines of a cell
VALUE, ENDS = Qt.ItemDataRole.UserRole + 20, Qt.ItemDataRole.UserRole + 21
ENDS_SCALE = 0.85  # font size of the ends relative to the value's


def format_ends(interval: Interval, number_text: Callable[[float], str]) -> str:
    """“79.0 to 85.0”; “” without an interval."""
    if math.isnan(interval.low):
        return ""
    return tr("{0} to {1}").format(number_text(interval.low), number_text(interval.high))


def with_ends(interval: Interval, number_text: Callable[[float], str]) -> str:
    """“82.1 (79.0 to 85.0)”; “–” without data."""
    if math.isnan(interval.value):
        return "–"
    value, ends = number_text(interval.value), format_ends(interval, number_text)
    return f"{value} ({ends})" if ends else value


def per_cent(fraction: float) -> str:
    """0.821 as 82.1, for a column in per cent."""
    return numbers.decimal(100 * fraction, 1)


class IntervalDelegate(QStyledItemDelegate):
    """Paints the score above the ends of its interval, from the roles VALUE and ENDS."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        value, ends, small = _lines(option, index)
        width = max(
            option.fontMetrics.horizontalAdvance(value), QFontMetrics(small).horizontalAdvance(ends)
        )
        height = option.fontMetrics.height() + QFontMetrics(small).height()
        return QSize(width + 4 * SPACE, height + 2 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        cell = QStyleOptionViewItem(option)
        self.initStyleOption(cell, index)
        cell.text = ""
        style = cell.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, cell, painter, cell.widget)
        value, ends, small = _lines(option, index)
        box = QRectF(option.rect).adjusted(2 * SPACE, SPACE, -2 * SPACE, -SPACE)
        right = Qt.AlignmentFlag.AlignRight
        middle = right | Qt.AlignmentFlag.AlignVCenter
        painter.save()
        painter.setPen(colour(Role.TEXT))
        painter.setFont(option.font)
        painter.drawText(box, right | Qt.AlignmentFlag.AlignTop if ends else middle, value)
        painter.setPen(colour(Role.MUTED))
        painter.setFont(small)
        painter.drawText(box, right | Qt.AlignmentFlag.AlignBottom, ends)
        painter.restore()


def _lines(option: QStyleOptionViewItem, index: Index) -> tuple[str, str, QFont]:
    small = QFont(option.font)
    if small.pixelSize() > 0:
        small.setPixelSize(round(ENDS_SCALE * small.pixelSize()))
    else:
        small.setPointSizeF(ENDS_SCALE * small.pointSizeF())
    return str(index.data(VALUE) or ""), str(index.data(ENDS) or ""), small
