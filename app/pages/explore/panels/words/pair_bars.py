"""Predictions of two models: two bars per token, and their difference."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QLocale, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.resources import mono_font
from app.theme import SIDES, SPACE, Role, colour
from app.widgets.charts.bars import AXIS, chance, paint_axis, paint_emphasis, paint_share
from app.widgets.text import numbers
from app.widgets.text.chips import AS_STORED, painted

ROW = 10 * SPACE
LABEL_SHARE = 0.4  # of the width, at most


@dataclass(frozen=True)
class PairBar:
    """One token; a probability is None if the model does not list it."""

    label: str
    first: float | None
    second: float | None
    emphasised: bool = False


class PairBars(QWidget):
    """Paints pairs of bars on a common scale from 0."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown: tuple[PairBar, ...] = ()
        self.most = 1.0
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bars(self, bars: Sequence[PairBar], most: float = 1.0) -> None:
        """Show these; a full bar is the probability `most`."""
        if (tuple(bars), most) == (self.shown, self.most):
            return
        self.shown, self.most = tuple(bars), most
        self.setAccessibleDescription(
            ", ".join(
                f"{painted(b.label)} {told(b.first)} {told(b.second)} {difference(b)}"
                for b in self.shown
            )
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(60 * SPACE, len(self.shown) * ROW + AXIS)

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(mono_font())
        widest = max((metrics.horizontalAdvance(painted(b.label)) for b in self.shown), default=0)
        label_width = min(widest, self.width() * LABEL_SHARE)
        for number, bar in enumerate(self.shown):
            row = QRectF(0, number * ROW, self.width(), ROW)
            self._paint_row(painter, bar, row, label_width)
        number_width = metrics.horizontalAdvance(f"< {numbers.percent(1.0, 1)}")
        delta = metrics.horizontalAdvance("−100.0")
        left = label_width + 4 * SPACE
        room = self.width() - left - number_width - delta - 5 * SPACE
        if self.shown and room > 0:
            paint_axis(painter, QRectF(left, len(self.shown) * ROW, room, AXIS), self.most)

    def _paint_row(self, painter: QPainter, bar: PairBar, row: QRectF, label_width: float) -> None:
        font = mono_font()
        font.setBold(bar.emphasised)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        if bar.emphasised:
            paint_emphasis(painter, row)
        row = row.adjusted(SPACE, 0, -SPACE, 0)
        painter.setPen(colour(Role.TEXT))
        middle = Qt.AlignmentFlag.AlignVCenter
        label = metrics.elidedText(painted(bar.label), Qt.TextElideMode.ElideRight, label_width + 1)
        painter.drawText(row, middle | Qt.AlignmentFlag.AlignLeft | AS_STORED, label)
        delta = metrics.horizontalAdvance("−100.0")
        painter.drawText(row, middle | Qt.AlignmentFlag.AlignRight, difference(bar))
        number_width = metrics.horizontalAdvance(f"< {numbers.percent(1.0, 1)}")
        left = label_width + 3 * SPACE
        room = row.width() - left - number_width - delta - 4 * SPACE
        halves = zip((bar.first, bar.second), SIDES, strict=True)
        for number, (value, role) in enumerate(halves):
            line = QRectF(row.left() + left, row.top() + 3 + number * 17, room, 16)
            painter.setPen(colour(Role.TEXT if value is not None else Role.MUTED))
            numbered = QRectF(line.left() + room, line.top(), number_width + SPACE, 16)
            painter.drawText(numbered, middle | Qt.AlignmentFlag.AlignRight, told(value))
            track = QRectF(line.left(), line.center().y() - 4, max(room, 0), 8)
            paint_share(painter, track, None if value is None else value / self.most, role)


def told(value: float | None) -> str:
    """A probability, or “–”."""
    return "–" if value is None else chance(value)


def difference(bar: PairBar) -> str:
    """Second minus first in percentage points, with its sign."""
    if bar.first is None or bar.second is None:
        return ""
    points = (bar.second - bar.first) * 100
    sign = "+" if points > 0 else "−" if points < 0 else "±"
    return QCoreApplication.translate("PairBars", "{0}{1}").format(
        sign, QLocale().toString(abs(points), "f", 1)
    )
