"""Scatter plot of texts with lasso selection and keyboard navigation.

Shapes: N points.
"""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app import theme
from app.theme import SPACE, Role, px
from app.translation import tr
from app.widgets.charts.painting import paint_shape
from app.widgets.text.labels import font, tooltip, visible

ROLES = theme.CHART[:7]
RADIUS, HIT_RADIUS = 3.0, 12.0  # px, of a point and of a click
MARGIN, LEGEND_ROW, SWATCH = 12, 16, 14  # px
MAX_NAME = 60  # characters of a legend name
EXPORT_SIZE = 420  # px
Colours = Callable[[Role], QColor]


class PointsView(QWidget):
    """Points with a legend, a tooltip and a lasso.

    Signals:
        selected: indices of the points in a lasso; none after a click.
        opened: index of a point that was double-clicked, or activated with Enter.
    """

    selected = Signal(list)
    opened = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.points = np.zeros((0, 2))
        self.categories: Sequence[str] = ()
        self.legend: Sequence[str] = ()
        self.selection: tuple[int, ...] = ()
        self.current = -1
        self.describe: Callable[[int], str] = lambda index: ""
        self._lasso = QPolygonF()
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(px(60 * SPACE), px(40 * SPACE))

    def show_points(
        self,
        points: np.ndarray,
        categories: Sequence[str],
        legend: Sequence[str],
        selection: tuple[int, ...],
    ) -> None:
        """Show points float [N, 2] with their categories and the indices in the lasso."""
        self.points, self.categories = points, categories
        self.legend, self.selection = legend, selection
        if self.current >= len(points):
            self.current = -1
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(100 * SPACE), px(72 * SPACE))

    def pixels(self) -> np.ndarray:
        """Pixel position of each point, float [N, 2]."""
        return to_pixels(self.points, self._area())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(font("small"))
        painter.setPen(theme.colour(Role.BORDER))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        area = self._outer_area()
        categories, legend = self.categories, self.legend
        paint_points(painter, area, self.points, categories, legend, theme.colour, self.selection)
        if 0 <= self.current < len(self.points):
            point = QPointF(*self.pixels()[self.current].tolist())
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour(Role.TEXT), 2))
            painter.drawEllipse(point, RADIUS + 3, RADIUS + 3)
        if self._lasso.size() > 1:
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1.5, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolygon(self._lasso)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._lasso = QPolygonF([event.position()])

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._lasso.size():
            self._lasso.append(event.position())
            self.update()
            return
        index = self._point_at(event.position())
        text = tooltip(self.describe(index)) if index >= 0 else ""
        QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        lasso, self._lasso = self._lasso, QPolygonF()
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if lasso.size() < 4 or max(lasso.boundingRect().size().toTuple()) < HIT_RADIUS:
            self._set_current(self._point_at(event.position()))
            self.selected.emit([])
        else:
            self.selected.emit(points_inside(self.pixels(), lasso))
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self._point_at(event.position())
        if index >= 0:
            self.opened.emit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        directions = {
            Qt.Key.Key_Left: (-1, 0),
            Qt.Key.Key_Right: (1, 0),
            Qt.Key.Key_Up: (0, -1),
            Qt.Key.Key_Down: (0, 1),
        }
        key = Qt.Key(event.key())
        if key in directions and len(self.points):
            self._set_current(self._next_point(*directions[key]))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current >= 0:
            self.opened.emit(self.current)
        else:
            super().keyPressEvent(event)

    def _set_current(self, index: int) -> None:
        if index >= 0:
            self.current = index
            self.setAccessibleDescription(self.describe(index))
            self.update()

    def _next_point(self, dx: int, dy: int) -> int:
        """Nearest point in a direction; the first point if none is current."""
        if self.current < 0:
            return 0
        pixels = self.pixels()
        offsets = pixels - pixels[self.current]
        ahead = offsets @ np.array([dx, dy])
        sideways = np.abs(offsets @ np.array([dy, dx]))
        cost = np.where(ahead > 0, ahead + 2 * sideways, np.inf)
        return int(cost.argmin()) if np.isfinite(cost).any() else self.current

    def _point_at(self, position: QPointF) -> int:
        if not len(self.points):
            return -1
        offsets = np.hypot(*(self.pixels() - np.array([position.x(), position.y()])).T)
        return int(offsets.argmin()) if offsets.min() <= HIT_RADIUS else -1

    def _outer_area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)

    def _area(self) -> QRectF:
        entries = legend_names(self.categories, self.legend)
        return plot_area(self._outer_area(), entries, QFontMetricsF(font("small")))


def points_inside(pixels: np.ndarray, lasso: QPolygonF) -> list[int]:
    """Indices of the points in a polygon."""
    return [
        n
        for n, (x, y) in enumerate(pixels.tolist())
        if lasso.containsPoint(QPointF(x, y), Qt.FillRule.OddEvenFill)
    ]


def to_pixels(points: np.ndarray, area: QRectF) -> np.ndarray:
    """Pixel positions in `area` with equal scales and y pointing up, float [N, 2]."""
    if not len(points):
        return np.zeros((0, 2))
    low, high = points.min(0), points.max(0)
    spread = np.maximum(high - low, 1e-12)
    scale = float(min(area.width() / spread[0], area.height() / spread[1]))
    middle = (low + high) / 2
    scaled = (points - middle) * np.array([scale, -scale])
    pixels: np.ndarray = scaled + np.array([area.center().x(), area.center().y()])
    return pixels


def legend_names(categories: Sequence[str], legend: Sequence[str]) -> list[str]:
    """Legend entries: the categories of `legend`, and “others” if there are any."""
    has_others = any(name and name not in legend for name in categories)
    return [*legend, tr("others")] if has_others else list(legend)


def plot_area(outer: QRectF, entries: Sequence[str], metrics: QFontMetricsF) -> QRectF:
    """The area to the right of the legend."""
    if not entries:
        return outer
    widest = max(metrics.horizontalAdvance(visible(name[:MAX_NAME])) for name in entries)
    return outer.adjusted(min(widest + SWATCH, outer.width() / 4) + MARGIN, 0, 0, 0)


def paint_points(
    painter: QPainter,
    outer: QRectF,
    points: np.ndarray,
    categories: Sequence[str],
    legend: Sequence[str],
    colours: Colours,
    selection: Sequence[int] = (),
) -> None:
    """Draw legend and points; unselected points are faint.

    The categories of the legend have a colour each, and then a colour and another shape.
    """
    entries = legend_names(categories, legend)
    area = plot_area(outer, entries, QFontMetricsF(painter.font()))
    chosen = set(selection)
    marks = {name: (ROLES[n % len(ROLES)], n // len(ROLES)) for n, name in enumerate(legend)}
    other = Role.MUTED, 0
    painter.setPen(Qt.PenStyle.NoPen)
    for index, (x, y) in enumerate(to_pixels(points, area).tolist()):
        name = categories[index] if index < len(categories) else ""
        role, shape = marks.get(name, other)
        colour = QColor(colours(role))
        colour.setAlphaF(0.85 if not chosen or index in chosen else 0.15)
        painter.setBrush(colour)
        paint_shape(painter, QPointF(x, y), shape, RADIUS)
    room = max(1, int(outer.height() / LEGEND_ROW))
    if len(entries) > room:
        entries = [*entries[: room - 1], f"+ {len(entries) - room + 1}"]
    for row, name in enumerate(entries):
        top = outer.top() + row * LEGEND_ROW
        painter.setPen(Qt.PenStyle.NoPen)
        role, shape = marks.get(name, other)
        painter.setBrush(colours(role))
        paint_shape(painter, QPointF(outer.left() + 5, top + LEGEND_ROW / 2), shape, 4)
        painter.setPen(colours(Role.TEXT))
        width = area.left() - MARGIN / 2 - outer.left() - SWATCH
        box = QRectF(outer.left() + SWATCH, top, width, LEGEND_ROW)
        shown = painter.fontMetrics().elidedText(
            visible(name[:MAX_NAME]), Qt.TextElideMode.ElideRight, int(box.width()) + 1
        )
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
