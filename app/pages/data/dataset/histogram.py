"""How long the rows are, and which would be truncated."""

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.pages.data.dataset.lengths import Lengths
from app.theme import SPACE, Role, colour
from app.widgets.text import numbers
from app.widgets.text.labels import font

BARS = 48
HEIGHT = 36 * SPACE
AXIS_SHARE = 0.995  # of the rows that the axis reaches; the rest is in the last bar


class Histogram(QWidget):
    """Bars of lengths; what is longer than the chosen length is hatched, beyond a line."""

    def __init__(self) -> None:
        super().__init__()
        self._lengths: Lengths | None = None
        self._cut = 128
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Lengths of the rows in tokens"))

    def show_lengths(self, lengths: Lengths | None, cut: int) -> None:
        self._lengths, self._cut = lengths, cut
        self.setAccessibleDescription(self.sentence())
        self.update()

    def sentence(self) -> str:
        """The picture in a sentence."""
        if self._lengths is None or not self._lengths.rows:
            return ""
        return self.tr("Half of the rows have at most {0} tokens; the longest has {1}.").format(
            numbers.count(self._lengths.median()), numbers.count(self._lengths.longest)
        )

    def sizeHint(self) -> QSize:
        return QSize(60 * SPACE, HEIGHT)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._lengths is None or not self._lengths.rows:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        small = font("small")
        metrics = QFontMetricsF(small)
        room = QRectF(self.rect()).adjusted(
            0, metrics.height() + SPACE, 0, -metrics.height() - SPACE
        )
        bars, width = self._bars()
        step = room.width() / len(bars)
        tallest = max(int(bars.max()), 1)
        for number, count in enumerate(bars):
            if not count:
                continue
            tall = max(room.height() * float(count) / tallest, 1.0)
            bar = QRectF(room.left() + number * step, room.bottom() - tall, step - 1, tall)
            is_cut = number * width >= self._cut
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour(Role.WARN if is_cut else Role.CHART_1))
            painter.drawRect(bar)
        painter.setFont(small)
        self._paint_axis(painter, room, len(bars) * width, metrics)
        self._paint_cut(painter, room, len(bars) * width, metrics)

    def _bars(self) -> tuple["np.ndarray[tuple[int], np.dtype[np.int64]]", int]:
        """Counts, and how many lengths stand in each bar; the last one has all that is longer."""
        assert self._lengths is not None
        counts = self._lengths.counts
        reach = max(
            self._lengths.below(AXIS_SHARE), self._cut if self._lengths.cut_at(self._cut) else 8
        )
        width = max(-(-(reach + 1) // BARS), 1)
        number = -(-(reach + 1) // width)
        padded = np.zeros(number * width, dtype=np.int64)
        inside = counts[: len(padded)]
        padded[: len(inside)] = inside
        bars = padded.reshape(number, width).sum(axis=1)
        bars[-1] += counts[len(padded) :].sum()
        return bars, width

    def _paint_axis(
        self, painter: QPainter, room: QRectF, reach: int, metrics: QFontMetricsF
    ) -> None:
        painter.setPen(QPen(colour(Role.EDGE), 1))
        painter.drawLine(QLineF(room.bottomLeft(), room.bottomRight()))
        painter.setPen(colour(Role.MUTED))
        base = room.bottom() + metrics.ascent() + SPACE
        step = _round_step(reach, room.width() / (metrics.horizontalAdvance("0000") * 2))
        for at in range(0, reach, step):
            x = room.left() + room.width() * at / reach
            text = numbers.count(at)
            x = min(x, room.right() - metrics.horizontalAdvance(text))
            painter.drawText(QPointF(x, base), text)

    def _paint_cut(
        self, painter: QPainter, room: QRectF, reach: int, metrics: QFontMetricsF
    ) -> None:
        if self._cut >= reach:
            return
        x = room.left() + room.width() * self._cut / reach
        painter.setPen(QPen(colour(Role.TEXT), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QLineF(x, room.top() - SPACE, x, room.bottom()))
        text = self.tr("max. length {0}").format(numbers.count(self._cut))
        left = min(x + SPACE, room.right() - metrics.horizontalAdvance(text))
        painter.drawText(QPointF(left, room.top() - SPACE), text)


def _round_step(reach: int, most: float) -> int:
    """The smallest of 1, 2, 5, 10, … with which at most `most` numbers stand along `reach`."""
    step = 1
    while reach / step > max(most, 1):
        step = step * 2 if str(step)[0] in "15" else step * 5 // 2
    return step
