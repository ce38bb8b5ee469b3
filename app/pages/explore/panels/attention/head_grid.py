"""All heads of all layers as a grid of small maps.

Shapes: L layers, H heads, P pixels.
"""

from collections.abc import Collection

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
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
    QRegion,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QScrollArea, QSizePolicy, QWidget

from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.drawing import dashed, head_dashes, head_role
from app.theme import PICKED, SPACE, Role, colour, repaints
from app.widgets.keys import arrow_step, is_press

SMALLEST = 6  # px of a head before the area scrolls
NEAREST = 512  # largest px of a head
ZOOM = 1.25  # factor of a step
GAP = 3  # px between heads
DIMMEST = 0.88  # opacity of the tint over the head with the smallest value
ZOOMS = {"+": ZOOM, "-": 1 / ZOOM, "0": 0.0}


class HeadGrid(QWidget):
    """Layers from top to bottom, heads from left to right; arrow keys move between heads.

    Ctrl+wheel, + and − zoom; 0 shows all again. Dragging scrolls.

    Signals:
        toggled: layer and head, from 0: clicked.
        switched: layer and head: Alt+clicked, to switch the head off or on.
        picked: layer and head: double-clicked or reached by an arrow key.
        pointed: layer and head under the mouse; -1 and -1 for none.
    """

    toggled = Signal(int, int)
    switched = Signal(int, int)
    picked = Signal(int, int)
    pointed = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self._heads: np.ndarray | None = None  # levels uint8 [L, H, P, P]
        self._picture: QPixmap | None = None
        self.tint: np.ndarray | None = None  # 0 to 1, float [layers so far, H]
        self._off: frozenset[tuple[int, int]] = frozenset()
        self._chosen: tuple[tuple[int, int], ...] = ((0, 0),)
        self._over = (-1, -1)
        self.zoom = 1.0
        self._pressed: QPoint | None = None  # global position of the start of a click or drag
        self._is_dragged = False
        self._margin: tuple[int, int] | None = None  # cached until the font changes
        self._size: int | None = None  # px of a head, cached until the size changes
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("All attention heads"))

    @property
    def size_in_heads(self) -> tuple[int, int]:
        return (0, 0) if self._heads is None else (self._heads.shape[0], self._heads.shape[1])

    def show_heads(self, heads: np.ndarray | None) -> None:
        """Show levels uint8 [L, H, P, P], or nothing."""
        had = self.size_in_heads
        self._heads, self._picture = heads, None
        if self.size_in_heads != had:
            self._size = None
            self.updateGeometry()
        self.update()

    def show_tint(self, values: np.ndarray | None) -> None:
        """Dim heads with smaller values, float [L, H]; None dims nothing."""
        if values is not None and values.size:
            low, high = float(values.min()), float(values.max())
            values = (values - low) / (high - low) if high > low else np.ones_like(values)
        self.tint = values
        self.update()

    def show_off(self, heads: Collection[tuple[int, int]]) -> None:
        """Cross out heads that are switched off."""
        self._off = frozenset(heads)
        self.update()

    def choose(self, chosen: tuple[tuple[int, int], ...]) -> None:
        """Mark the selected heads; the last is the current one."""
        self._chosen = chosen
        layer, head = chosen[-1]
        self.setAccessibleDescription(
            self.tr("Layer {0} of {1}, head {2} of {3}").format(
                layer + 1, self.size_in_heads[0], head + 1, self.size_in_heads[1]
            )
        )
        self.update()

    def set_zoom(self, zoom: float, around: QPoint | None = None) -> None:
        """Zoom; the point `around` stays fixed."""
        before = self._fitting()
        zoom = min(max(1.0, zoom), NEAREST / max(1, before))
        if zoom == self.zoom:
            return
        place = around if around is not None else self.visibleRegion().boundingRect().center()
        old_step = self._side() + GAP
        self.zoom, self._picture, self._size = zoom, None, None
        self.updateGeometry()
        factor = (self._side() + GAP) / old_step
        area = self._area()
        if area is not None:
            self.resize(self.sizeHint().expandedTo(area.viewport().size()))
            left, top = self._margins()
            for bar, at, margin in (
                (area.horizontalScrollBar(), place.x(), left),
                (area.verticalScrollBar(), place.y(), top),
            ):
                shift = round((at - margin) * factor + margin) - at
                bar.setMaximum(max(bar.maximum(), bar.value() + shift))
                bar.setValue(bar.value() + shift)
        self.update()

    def _area(self) -> QScrollArea | None:
        viewport = self.parentWidget()
        area = viewport.parentWidget() if viewport is not None else None
        return area if isinstance(area, QScrollArea) else None

    def cell(self, layer: int, head: int) -> QRectF:
        """Rectangle of a head."""
        left, top = self._margins()
        step = self._side() + GAP
        return QRectF(left + head * step, top + layer * step, self._side(), self._side())

    def minimumSizeHint(self) -> QSize:
        layers, heads = self.size_in_heads
        left, top = self._margins()
        step = (SMALLEST if self.zoom == 1 else self._side()) + GAP
        return QSize(left + max(heads, 4) * step, top + max(layers, 4) * step)

    def sizeHint(self) -> QSize:
        layers, heads = self.size_in_heads
        left, top = self._margins()
        step = (28 if self.zoom == 1 else self._side()) + GAP
        return QSize(left + max(heads, 4) * step, top + max(layers, 4) * step)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._size = None
        if self.zoom == 1:
            self._picture = None

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if repaints(event) or event.type() == QEvent.Type.FontChange:
            self._picture, self._margin, self._size = None, None, None
            self.update()

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def at(self, point: QPoint) -> tuple[int, int]:
        """Layer and head at a point, or -1 and -1."""
        layers, heads = self.size_in_heads
        left, top = self._margins()
        step = self._side() + GAP
        head, layer = (point.x() - left) // step, (point.y() - top) // step
        inside = 0 <= layer < layers and 0 <= head < heads
        return (layer, head) if inside else (-1, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None:
            self._drag(event.globalPosition().toPoint())
        else:
            self._point(self.at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point((-1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._is_dragged = event.globalPosition().toPoint(), False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        layer, head = self.at(event.position().toPoint())
        was_click, self._pressed = not self._is_dragged, None
        if was_click and layer >= 0:
            has_alt = event.modifiers() & Qt.KeyboardModifier.AltModifier
            (self.switched if has_alt else self.toggled).emit(layer, head)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        layer, head = self.at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and layer >= 0:
            self.picked.emit(layer, head)

    def _drag(self, now: QPoint) -> None:
        """Scroll; ignores tiny moves of a click."""
        assert self._pressed is not None
        moved = now - self._pressed
        if not self._is_dragged and moved.manhattanLength() < QApplication.startDragDistance():
            return
        self._is_dragged, self._pressed = True, now
        area = self._area()
        if area is not None:
            for bar, by in (
                (area.horizontalScrollBar(), moved.x()),
                (area.verticalScrollBar(), moved.y()),
            ):
                bar.setValue(bar.value() - by)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            steps = event.angleDelta().y() / 120
            self.set_zoom(self.zoom * ZOOM**steps, event.position().toPoint())
        else:
            event.ignore()  # the area scrolls

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = arrow_step(event)
        if event.text() in ZOOMS:
            self.set_zoom(self.zoom * ZOOMS[event.text()])
        elif is_press(event) and self._over[0] >= 0:
            self.toggled.emit(*self._over)
        elif step is None or self._heads is None:
            super().keyPressEvent(event)
        else:
            layers, heads = self.size_in_heads
            layer, head = self._chosen[-1][0] + step[0], self._chosen[-1][1] + step[1]
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
            before, self._over = self._over, over
            self.pointed.emit(*over)
            for one in (before, over):  # repaint only what changes, to keep up with the mouse
                self.update(self.cell(*one).adjusted(-3, -3, 3, 3).toAlignedRect())

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._heads is None:
            return
        painter = QPainter(self)
        picture = self._picture or self._draw(self._heads)
        self._picture = picture
        side = self._picture_side() + self._gap()  # of the picture, in device pixels
        left, top = self._margins()
        if side == (self._side() + GAP) * self.devicePixelRatioF():  # no scaling needed
            all_of_it = QRectF(picture.rect())
            size = all_of_it.size() / self.devicePixelRatioF()
            painter.drawPixmap(QRectF(QPointF(left, top), size), picture, all_of_it)
        else:
            self._paint_heads(painter, event.region(), picture, side)
        if self.tint is not None:
            self._paint_tint(painter, event.region(), self.tint)
        if event.rect().left() < left or event.rect().top() < top:
            self._paint_numbers(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(Role.BAD), 2))
        for layer, head in self._off:
            box = self.cell(layer, head).adjusted(3, 3, -3, -3)
            painter.drawLine(box.topLeft(), box.bottomRight())
            painter.drawLine(box.bottomLeft(), box.topRight())
        if self._over[0] >= 0:
            painter.setPen(QPen(colour(Role.MUTED), 1.5))
            painter.drawRect(self.cell(*self._over).adjusted(-1, -1, 1, 1))
        for number, one in enumerate(self._chosen):
            is_current = number == len(self._chosen) - 1
            role = head_role(number, len(self._chosen))
            if len(self._chosen) == 1:
                role = PICKED if self.hasFocus() else Role.ACCENT
            pen = QPen(colour(role), 2.5 if is_current else 1.75)
            painter.setPen(dashed(pen, head_dashes(number, len(self._chosen))))
            painter.drawRect(self.cell(*one).adjusted(-1.5, -1.5, 1.5, 1.5))

    def _paint_tint(self, painter: QPainter, seen: QRegion, tint: np.ndarray) -> None:
        """Paint the background colour over each head, more opaque for smaller values."""
        layers, heads = self.size_in_heads
        (left, top), side, box = self._margins(), self._side(), seen.boundingRect()
        step, dim, values = side + GAP, colour(Role.WINDOW), tint.tolist()
        for layer in range(max(0, (box.top() - top) // step), min(layers, len(values))):
            y = top + layer * step
            for head in range(max(0, (box.left() - left) // step), heads):
                x = left + head * step
                if x > box.right() or y > box.bottom():
                    break
                dim.setAlphaF(DIMMEST * (1 - values[layer][head]))
                painter.fillRect(x, y, side, side, dim)

    def _paint_heads(self, painter: QPainter, seen: QRegion, picture: QPixmap, side: int) -> None:
        """Scale each visible head from its part of the picture; `side` includes the gap."""
        assert self._heads is not None
        for layer in range(self._heads.shape[0]):
            for head in range(self._heads.shape[1]):
                box = self.cell(layer, head)
                if seen.intersects(box.toAlignedRect()):
                    part = QRectF(head * side, layer * side, side - self._gap(), side - self._gap())
                    painter.drawPixmap(box, picture, part)
                    painter.setPen(QPen(colour(Role.BORDER), 1))
                    painter.drawRect(_framed(box))

    def _draw(self, heads: np.ndarray) -> QPixmap:
        """All heads in device pixels; when zoomed, one pixel per pixel of a map."""
        side, gap = self._picture_side(), self._gap()
        made = QPixmap.fromImage(pixels.themed(pixels.mosaic(heads, side, gap)))
        if self.zoom == 1:
            painter = QPainter(made)
            painter.setPen(QPen(colour(Role.BORDER), self.devicePixelRatioF()))
            step = side + gap
            for layer in range(heads.shape[0]):
                for head in range(heads.shape[1]):
                    painter.drawRect(_framed(QRectF(head * step, layer * step, side, side)))
            painter.end()
        return made

    def _picture_side(self) -> int:
        """Device pixels of a head in the picture."""
        assert self._heads is not None
        wanted = round(self._side() * self.devicePixelRatioF())
        return wanted if self.zoom == 1 else min(wanted, self._heads.shape[-1])

    def _gap(self) -> int:
        return round(GAP * self.devicePixelRatioF())

    def _paint_numbers(self, painter: QPainter) -> None:
        """Paint layer and head numbers, as many as fit."""
        layers, heads = self.size_in_heads
        left, top = self._margins()
        painter.setFont(_small(self.font()))
        metrics = painter.fontMetrics()
        step = self._side() + GAP
        rows = max(1, -(-metrics.height() // step))
        columns = max(1, -(-(metrics.horizontalAdvance("00") + 4) // step))
        pens = colour(Role.MUTED), colour(Role.TEXT)
        for layer in range(0, layers, rows):
            painter.setPen(pens[layer == self._chosen[-1][0]])
            box = QRectF(0, self.cell(layer, 0).center().y() - 10, left - 2 * SPACE, 20)
            align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, align, str(layer + 1))
        for head in range(0, heads, columns):
            painter.setPen(pens[head == self._chosen[-1][1]])
            box = QRectF(self.cell(0, head).center().x() - 20, 0, 40, top - SPACE)
            align = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom
            painter.drawText(box, align, str(head + 1))

    def _margins(self) -> tuple[int, int]:
        """Space for the numbers at the left and the top."""
        if self._margin is None:
            metrics = QFontMetrics(_small(self.font()))
            across = metrics.horizontalAdvance("00") + 3 * SPACE
            self._margin = across, metrics.height() + SPACE
        return self._margin

    def _side(self) -> int:
        """px of a head at this zoom."""
        if self._size is None:
            self._size = min(NEAREST, round(self._fitting() * self.zoom))
        return self._size

    def _fitting(self) -> int:
        """Largest px of a head at which all fit."""
        layers, heads = self.size_in_heads
        if not layers or not heads:
            return SMALLEST
        area, left_top = self._area(), self._margins()
        room = self.size() if area is None else area.viewport().size()
        wide = (room.width() - left_top[0] - 2) // heads - GAP
        high = (room.height() - left_top[1] - 2) // layers - GAP
        return max(SMALLEST, min(NEAREST, wide, high))


def _framed(box: QRectF) -> QRectF:
    """Frame on the outermost pixels of a head, to separate heads of similar colour."""
    return box.adjusted(0.5, 0.5, -0.5, -0.5)


def _small(font: QFont) -> QFont:
    smaller = QFont(font)
    smaller.setPointSizeF(font.pointSizeF() * 0.85)
    return smaller
