"""Heat map of a value per head, layers × heads, with a colour bar; on screen and for export.

Shapes: L layers, H heads.
"""

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.pages.explore.paper import draw_upright
from app.theme import SPACE, Palette, Role, colour, px, shade
from app.translation import tr
from app.widgets.keys import arrow_step, clamp
from app.widgets.text.labels import font, tooltip
from app.widgets.text.numbers import decimal

LEFT, BOTTOM, BAR, BAR_LEFT, TICKS = 40, 36, 10, 14, 56  # px around the cells
CELL = 30  # px, side of a cell in a saved figure
BAR_COLORS = 48


class HeadHeatmap(QWidget):
    """A value per head; arrow keys and clicks choose a head.

    Signals:
        picked: layer and head, from 0.
    """

    picked = Signal(int, int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.values = np.zeros((0, 0))
        self.describe: Callable[[int, int], str] = lambda layer, head: ""
        self.chosen = (0, 0)
        self.is_signed = False
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(px(44 * SPACE), px(36 * SPACE))

    def show_values(self, values: np.ndarray | None, is_signed: bool = False) -> None:
        """Show float [L, H]; if `is_signed`, 0 is the middle of the colours."""
        self.values = np.zeros((0, 0)) if values is None else values
        self.is_signed = is_signed
        self.update()

    def choose(self, layer: int, head: int) -> None:
        if (layer, head) != self.chosen:
            self.chosen = layer, head
            self._update_description()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(80 * SPACE), px(72 * SPACE))

    def cell(self, layer: int, head: int) -> QRectF:
        return cell_rect(self._area(), self.values.shape, layer, head)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(font("small"))
        area = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        paint_grid(painter, area, self.values, colour, self.is_signed)
        layers, heads = self.values.shape
        layer, head = self.chosen
        if layer < layers and head < heads:
            role = Role.ACCENT if self.hasFocus() else Role.TEXT
            painter.setPen(QPen(colour(role), 2))
            painter.drawRect(self.cell(layer, head).adjusted(1, 1, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self._cell_at(event.position())
        if cell is not None:
            self.picked.emit(*cell)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = arrow_step(event)
        layers, heads = self.values.shape
        if step is None or not layers:
            super().keyPressEvent(event)
            return
        layer, head = (index + by for index, by in zip(self.chosen, step, strict=True))
        self.picked.emit(clamp(layer, layers - 1), clamp(head, heads - 1))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cell = self._cell_at(QPointF(event.pos()))
            if cell is not None:
                QToolTip.showText(event.globalPos(), tooltip(self.describe(*cell)), self)
            return True
        return super().event(event)

    def _update_description(self) -> None:
        layer, head = self.chosen
        if layer < self.values.shape[0] and head < self.values.shape[1]:
            self.setAccessibleDescription(self.describe(layer, head))

    def _area(self) -> QRectF:
        return cells_area(QRectF(self.rect()).adjusted(2, 2, -2, -2))

    def _cell_at(self, point: QPointF) -> tuple[int, int] | None:
        area, (layers, heads) = self._area(), self.values.shape
        if not layers or not area.contains(point):
            return None
        layer = int((point.y() - area.top()) / area.height() * layers)
        return min(layer, layers - 1), min(
            int((point.x() - area.left()) / area.width() * heads), heads - 1
        )


def grid_size(values: np.ndarray) -> QSize:
    layers, heads = values.shape
    width = LEFT + heads * CELL + BAR_LEFT + BAR + TICKS
    return QSize(max(width, 320), max(layers * CELL, 120) + BOTTOM)


def cells_area(area: QRectF) -> QRectF:
    return area.adjusted(LEFT, 4, -(BAR_LEFT + BAR + TICKS), -BOTTOM)


def cell_rect(area: QRectF, shape: tuple[int, ...], layer: int, head: int) -> QRectF:
    layers, heads = shape
    width, height = area.width() / max(1, heads), area.height() / max(1, layers)
    return QRectF(area.left() + head * width, area.top() + layer * height, width, height)


def value_range(values: np.ndarray, is_signed: bool) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if is_signed:
        limit = max(abs(low), abs(high)) or 1.0
        return -limit, limit
    low = min(0.0, low)
    return low, high if high > low else low + 1.0


def paint_grid(
    painter: QPainter, outer: QRectF, values: np.ndarray, palette: Palette, is_signed: bool
) -> None:
    """Paint the cells, both axes and the colour bar."""
    layers, heads = values.shape
    if not layers:
        return
    low, high = value_range(values, is_signed)
    area = cells_area(outer)
    middle = Qt.AlignmentFlag.AlignCenter
    for layer in range(layers):
        for head in range(heads):
            value = float(values[layer, head])
            box = cell_rect(area, values.shape, layer, head).adjusted(0.5, 0.5, -0.5, -0.5)
            if np.isfinite(value):
                painter.fillRect(box, shade((value - low) / (high - low), palette, is_signed))
    painter.setPen(palette(Role.MUTED, 1.0))
    text_height = painter.fontMetrics().height()
    for layer in range(layers):
        if layer % max(1, -(-text_height * layers // max(1, int(area.height())))) == 0:
            box = QRectF(outer.left() + 16, cell_rect(area, values.shape, layer, 0).top(),
                         LEFT - 20, area.height() / layers)  # fmt: skip
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, right, str(layer + 1))
    for head in range(heads):
        if head % max(1, -(-24 * heads // max(1, int(area.width())))) == 0:
            cell = cell_rect(area, values.shape, 0, head)
            box = QRectF(cell.center().x() - 15, area.bottom() + 2, 30, 15)
            painter.drawText(box, middle, str(head + 1))
    painter.drawText(QRectF(area.left(), area.bottom() + 17, area.width(), 16), middle, tr("Head"))
    corner = QPointF(outer.left(), area.center().y() + 60)
    draw_upright(painter, corner, QSizeF(120, 16), tr("Layer"), middle)
    paint_bar(painter, area, (low, high), palette, is_signed)


def paint_bar(
    painter: QPainter,
    area: QRectF,
    limits: tuple[float, float],
    palette: Palette,
    is_signed: bool,
    pale: bool = False,
) -> None:
    """Paint a colour bar to the right of an area, labelled at both ends and the middle."""
    low, high = limits
    bar = QRectF(area.right() + BAR_LEFT, area.top(), BAR, area.height())
    step = bar.height() / BAR_COLORS
    for index in range(BAR_COLORS):
        box = QRectF(bar.left(), bar.bottom() - (index + 1) * step, BAR, step + 0.5)
        painter.fillRect(box, shade((index + 0.5) / BAR_COLORS, palette, is_signed, pale))
    painter.setPen(palette(Role.MUTED, 1.0))
    painter.drawRect(bar)
    left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    for fraction in (0.0, 0.5, 1.0):
        y = min(max(bar.bottom() - fraction * bar.height(), bar.top() + 6), bar.bottom() - 6)
        value = low + fraction * (high - low)
        is_integer = high > 1 and value.is_integer()  # e.g. rounds
        text = str(int(value)) if is_integer else decimal(value, 3)
        painter.drawText(QRectF(bar.right() + 4, y - 8, TICKS, 16), left, text)
