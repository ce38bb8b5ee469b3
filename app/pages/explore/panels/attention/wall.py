"""All heads of all layers as one picture of small maps.

Shapes: L layers, H heads, P pixels.
"""

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.pages.explore.panels.attention import pixels
from app.theme import SPACE, Role, colour, repaints

SMALLEST, LARGEST = 12, 96  # px of a head
GAP = 3  # px between two
STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class Wall(QWidget):
    """Layers from top to bottom, heads from left to right; arrow keys move from head to head.

    Signals:
        picked: layer and head, from 0.
        pointed: likewise for the head under the mouse; -1 and -1 for none.
    """

    picked = Signal(int, int)
    pointed = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heads: np.ndarray | None = None  # levels uint8 [L, H, P, P]
        self._picture: QPixmap | None = None
        self._chosen = (0, 0)
        self._over = (-1, -1)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("All heads"))

    @property
    def size_in_heads(self) -> tuple[int, int]:
        return (0, 0) if self._heads is None else (self._heads.shape[0], self._heads.shape[1])

    def show_heads(self, heads: np.ndarray | None) -> None:
        """Levels uint8 [L, H, P, P], or nothing."""
        self._heads, self._picture = heads, None
        self.updateGeometry()
        self.update()

    def choose(self, layer: int, head: int) -> None:
        """Mark a head as the one that is looked at."""
        self._chosen = (layer, head)
        self.setAccessibleDescription(
            self.tr("Layer {0} of {1}, head {2} of {3}").format(
                layer + 1, self.size_in_heads[0], head + 1, self.size_in_heads[1]
            )
        )
        self.update()

    def cell(self, layer: int, head: int) -> QRectF:
        """Where a head is painted."""
        left, top = self._margins()
        step = self._side() + GAP
        return QRectF(left + head * step, top + layer * step, self._side(), self._side())

    def minimumSizeHint(self) -> QSize:
        layers, heads = self.size_in_heads
        left, top = self._margins()
        step = SMALLEST + GAP
        return QSize(left + max(heads, 4) * step, top + max(layers, 4) * step)

    def sizeHint(self) -> QSize:
        layers, heads = self.size_in_heads
        left, top = self._margins()
        step = 28 + GAP
        return QSize(left + max(heads, 4) * step, top + max(layers, 4) * step)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if repaints(event) or event.type() == QEvent.Type.FontChange:
            self._picture = None
            self.update()

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def at(self, point: QPoint) -> tuple[int, int]:
        """The layer and head under a point, or -1 and -1."""
        layers, heads = self.size_in_heads
        left, top = self._margins()
        step = self._side() + GAP
        head, layer = (point.x() - left) // step, (point.y() - top) // step
        inside = 0 <= layer < layers and 0 <= head < heads
        return (layer, head) if inside else (-1, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self.at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point((-1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        layer, head = self.at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and layer >= 0:
            self.picked.emit(layer, head)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = STEPS.get(Qt.Key(event.key()))
        if step is None or self._heads is None:
            super().keyPressEvent(event)
            return
        layers, heads = self.size_in_heads
        layer, head = self._chosen[0] + step[0], self._chosen[1] + step[1]
        if 0 <= layer < layers and 0 <= head < heads:
            self.picked.emit(layer, head)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _point(self, over: tuple[int, int]) -> None:
        if over != self._over:
            self._over = over
            self.pointed.emit(*over)
            self.update()

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._heads is None:
            return
        painter = QPainter(self)
        picture = self._picture or self._draw(self._heads)
        self._picture = picture
        painter.drawPixmap(QPoint(*self._margins()), picture)
        self._paint_numbers(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._over[0] >= 0:
            painter.setPen(QPen(colour(Role.MUTED), 1.5))
            painter.drawRect(self.cell(*self._over).adjusted(-1, -1, 1, 1))
        painter.setPen(QPen(colour(Role.TEXT if self.hasFocus() else Role.CHART_2), 2))
        painter.drawRect(self.cell(*self._chosen).adjusted(-1.5, -1.5, 1.5, 1.5))

    def _draw(self, heads: np.ndarray) -> QPixmap:
        """The mosaic in device pixels, so that it is sharp on any screen."""
        ratio = self.devicePixelRatioF()
        side, gap = round(self._side() * ratio), round(GAP * ratio)
        made = QPixmap.fromImage(pixels.themed(pixels.mosaic(heads, side, gap)))
        made.setDevicePixelRatio(ratio)
        return made

    def _paint_numbers(self, painter: QPainter) -> None:
        """Layers at the left, heads on top; so many as there is room for."""
        layers, heads = self.size_in_heads
        left, top = self._margins()
        painter.setFont(_small(self.font()))
        metrics = painter.fontMetrics()
        step = self._side() + GAP
        rows = max(1, -(-metrics.height() // step))
        columns = max(1, -(-(metrics.horizontalAdvance("00") + 4) // step))
        for layer in range(0, layers, rows):
            painter.setPen(colour(Role.TEXT if layer == self._chosen[0] else Role.MUTED))
            box = QRectF(0, self.cell(layer, 0).center().y() - 10, left - 2 * SPACE, 20)
            align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, align, str(layer + 1))
        for head in range(0, heads, columns):
            painter.setPen(colour(Role.TEXT if head == self._chosen[1] else Role.MUTED))
            box = QRectF(self.cell(0, head).center().x() - 20, 0, 40, top - SPACE)
            align = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom
            painter.drawText(box, align, str(head + 1))

    def _margins(self) -> tuple[int, int]:
        """Room for the numbers, at the left and on top."""
        metrics = QFontMetrics(_small(self.font()))
        return metrics.horizontalAdvance("00") + 3 * SPACE, metrics.height() + SPACE

    def _side(self) -> int:
        """The size of a head: as large as there is room for."""
        layers, heads = self.size_in_heads
        if not layers or not heads:
            return SMALLEST
        left, top = self._margins()
        wide = (self.width() - left - 2) // heads - GAP
        high = (self.height() - top - 2) // layers - GAP
        return max(SMALLEST, min(LARGEST, wide, high))


def _small(font: QFont) -> QFont:
    smaller = QFont(font)
    smaller.setPointSizeF(font.pointSizeF() * 0.85)
    return smaller
