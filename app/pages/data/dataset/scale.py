"""How numbers that are labels are distributed, as a histogram."""

import numpy as np
from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE, Role, colour
from app.widgets.forms.controls import written
from app.widgets.text.labels import font
from engine.data.columns.numbers import parse_number

BARS = 24
HEIGHT = 36 * SPACE


class Scale(QWidget):
    """Bars of equal width from the lowest to the highest number."""

    def __init__(self) -> None:
        super().__init__()
        self.bars = np.zeros(BARS, dtype=np.int64)
        self._low, self._high, self._median = 0.0, 1.0, 0.5
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Distribution of the numbers"))

    def show_numbers(self, labels: dict[str, int]) -> None:
        """Show numbers, each with how many rows have it; labels that are none are left out."""
        pairs = [(parse_number(label), rows) for label, rows in labels.items()]
        known = sorted((number, rows) for number, rows in pairs if number is not None)
        values = np.array([number for number, _ in known])
        rows = np.array([rows for _, rows in known])
        self.bars, edges = np.histogram(values, bins=BARS, weights=rows)
        self._low, self._high = float(edges[0]), float(edges[-1])
        middle = np.searchsorted(np.cumsum(rows), rows.sum() / 2)
        self._median = float(values[middle])
        self.setAccessibleDescription(self.sentence())
        self.update()

    def sentence(self) -> str:
        """The picture in a sentence."""
        return self.tr("Numbers from {0} to {1}; the median is {2}.").format(
            written(self._low), written(self._high), written(self._median)
        )

    def sizeHint(self) -> QSize:
        return QSize(60 * SPACE, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        small = font("small")
        below = QFontMetricsF(small).height() + 2 * SPACE
        room = QRectF(self.rect()).adjusted(0, SPACE, 0, -below)
        step, tallest = room.width() / BARS, max(int(self.bars.max()), 1)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(Role.CHART_1))
        for number, count in enumerate(self.bars):
            if count:
                tall = max(room.height() * float(count) / tallest, 1.0)
                left = room.left() + number * step
                painter.drawRect(QRectF(left, room.bottom() - tall, step - 1, tall))
        painter.setPen(QPen(colour(Role.EDGE), 1))
        painter.drawLine(QLineF(room.bottomLeft(), room.bottomRight()))
        painter.setPen(colour(Role.MUTED))
        painter.setFont(small)
        under = QRectF(0, room.bottom() + SPACE, self.width(), below)
        for value, side in (
            (self._low, Qt.AlignmentFlag.AlignLeft),
            ((self._low + self._high) / 2, Qt.AlignmentFlag.AlignHCenter),
            (self._high, Qt.AlignmentFlag.AlignRight),
        ):
            text = written(float(f"{value:.4g}"))
            painter.drawText(under, Qt.AlignmentFlag.AlignTop | side, text)
        painter.end()
