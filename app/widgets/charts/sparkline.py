"""A tiny line chart for table cells and cards."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from app import theme
from app.theme import Role

if TYPE_CHECKING:  # the window opens without NumPy
    import numpy as np


def paint_sparkline(
    painter: QPainter, rect: QRectF, values: Sequence[float | None], colour: QColor
) -> None:
    """Paint `values` as a line that fills `rect`; None and NaN leave a gap.

    The last point is a dot, so that a single value is visible.
    """
    import numpy as np

    points = np.array(values, dtype=np.float64)  # None becomes NaN
    points[~np.isfinite(points)] = np.nan
    if not np.isfinite(points).any() or rect.width() < 4:
        return
    points = _thinned(points, max(2, int(rect.width())))
    low, high = float(np.nanmin(points)), float(np.nanmax(points))
    inner = rect.adjusted(1.5, 2.5, -2.5, -2.5)
    x = inner.left() + np.arange(len(points)) * inner.width() / max(1, len(points) - 1)
    share = (points - low) / (high - low) if high > low else np.full(len(points), 0.5)
    y = inner.bottom() - np.where(np.isnan(points), np.nan, share) * inner.height()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    line = QPolygonF()
    last = QPointF()
    for px, py in zip(x.tolist(), y.tolist(), strict=True):
        if py == py:
            last = QPointF(px, py)
            line.append(last)
        else:
            painter.drawPolyline(line)
            line = QPolygonF()
    painter.drawPolyline(line)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawEllipse(last, 2.0, 2.0)
    painter.restore()


def _thinned(points: "np.ndarray", most: int) -> "np.ndarray":
    """At most `most` points: the mean of each span, NaN if all of it is NaN."""
    if len(points) <= most:
        return points
    import numpy as np

    edges = np.linspace(0, len(points), most + 1).astype(int)[:-1]
    finite = np.isfinite(points)
    totals = np.add.reduceat(np.where(finite, points, 0.0), edges)
    counts = np.add.reduceat(finite.astype(np.float64), edges)
    means: np.ndarray = np.full(most, np.nan)
    np.divide(totals, counts, out=means, where=counts > 0)
    return means


class Sparkline(QWidget):
    """`paint_sparkline` as a widget."""

    def __init__(self, values: Sequence[float | None] = ()) -> None:
        super().__init__()
        self._values = list(values)
        self.setMinimumSize(64, 20)

    def set_values(self, values: Sequence[float | None]) -> None:
        self._values = list(values)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_sparkline(painter, QRectF(self.rect()), self._values, theme.colour(Role.CHART_1))
