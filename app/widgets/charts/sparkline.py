"""A tiny line chart for table cells and cards."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app import theme
from app.theme import Role, px


def paint_sparkline(painter: QPainter, rect: QRectF, values: Sequence[float | None]) -> None:
    """Paint `values` as a line that fills `rect`; None and NaN leave a gap.

    The last point is a dot, so that a single value is visible.
    """
    import numpy as np  # the window opens without it

    points = np.array(values, dtype=np.float64)  # None becomes NaN
    finite = np.isfinite(points)
    if not finite.any() or rect.width() < 4:
        return
    if len(points) > (columns := max(2, int(rect.width()))):  # the mean of each column of pixels
        edges = np.linspace(0, len(points), columns + 1).astype(int)[:-1]
        totals = np.add.reduceat(np.where(finite, points, 0.0), edges)
        counts = np.add.reduceat(finite.astype(np.float64), edges)
        points, finite = totals / np.maximum(counts, 1), counts > 0
    low, high = points[finite].min(), points[finite].max()
    fractions = (points - low) / (high - low) if high > low else np.full(len(points), 0.5)
    inner = rect.adjusted(1.5, 2.5, -2.5, -2.5)
    x = inner.left() + np.arange(len(points)) * inner.width() / max(1, len(points) - 1)
    y = inner.bottom() - fractions * inner.height()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    colour = theme.colour(Role.CHART_1)
    painter.setPen(QPen(colour, 1.5))
    shown = np.flatnonzero(finite)
    for part in np.split(shown, np.flatnonzero(np.diff(shown) > 1) + 1):
        painter.drawPolyline([QPointF(x[n], y[n]) for n in part])
    last = shown[-1]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawEllipse(QPointF(x[last], y[last]), 2.0, 2.0)
    painter.restore()


class Sparkline(QWidget):
    def __init__(self, values: Sequence[float | None] = ()) -> None:
        super().__init__()
        self._values = list(values)
        self.setMinimumSize(px(64), px(20))

    def set_values(self, values: Sequence[float | None]) -> None:
        self._values = list(values)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_sparkline(painter, QRectF(self.rect()), self._values)
