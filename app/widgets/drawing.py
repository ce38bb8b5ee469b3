"""Shapes and lines of text that painted widgets and cells share."""

from abc import abstractmethod
from collections.abc import Iterable

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE, Role, colour, px
from app.widgets.tables import AT_LEFT


def fill(painter: QPainter, rect: QRectF | QRect, color: QColor, radius: float = 0) -> None:
    """Fill a rectangle with round corners, without an outline."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawRoundedRect(rect, radius, radius)


def write(
    painter: QPainter,
    rect: QRectF,
    text: str,
    font: QFont,
    color: Role | QColor,
    flags: int | Qt.AlignmentFlag = AT_LEFT,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> float:
    """Write a line of text, elided if it is wider than `rect`; returns its width in px."""
    painter.setFont(font)
    painter.setPen(colour(color) if isinstance(color, Role) else color)
    metrics = painter.fontMetrics()
    shown = metrics.elidedText(text, elide, max(0, round(rect.width())))
    painter.drawText(rect, flags, shown)
    return float(metrics.horizontalAdvance(shown))


class FlowWidget(QWidget):
    """Paints boxes in as many rows as its width needs."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @abstractmethod
    def boxes_at(self, width: int) -> list[QRectF]:
        """The boxes in a width in px, by `flow`."""

    def sizeHint(self) -> QSize:
        width = max(self.width(), 80 * SPACE)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(30 * SPACE), 0)

    def heightForWidth(self, width: int) -> int:
        boxes = self.boxes_at(width)
        return round(boxes[-1].bottom()) + 1 if boxes else 0


def flow(
    widths: Iterable[float], height: float, max_width: float, gap: float, row_gap: float = 0
) -> list[QRectF]:
    """Place boxes from left to right, in rows of at most `max_width` px."""
    boxes: list[QRectF] = []
    x = y = 0.0
    for width in widths:
        if x and x + width > max_width:
            x, y = 0.0, y + height + row_gap
        boxes.append(QRectF(x, y, width, height))
        x += width + gap
    return boxes
