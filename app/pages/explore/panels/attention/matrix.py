"""One head as a matrix, query tokens over key tokens, and the colour scale; for screen and export.

Shapes: S shown tokens.
"""

from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from app.pages.explore.panels.attention.lines import name_font
from app.pages.explore.panels.attention.maps import (
    MAX_LEVEL,
    AttentionMaps,
    level_colors,
    levels,
    picture,
    resize_levels,
)
from app.pages.explore.panels.attention.state import AttentionState, describe_head
from app.pages.explore.paper import LEFT, RIGHT, draw_upright
from app.resources import mono_font
from app.theme import PICKED, SPACE, Palette, Role, colour, is_theme_change, print_color, px
from app.widgets.keys import arrow_step, clamp, is_press
from app.widgets.text.labels import font
from app.widgets.text.numbers import decimal

MIN_LABELLED_CELL = 11  # px
MAX_CELL = 34  # px of a cell
MAX_LABEL = 28 * SPACE  # px for the labels on the left and at the top
MAX_LABEL_FRACTION = 0.3  # of the widget's size
TITLE = 4 * SPACE  # px of an axis title
ZOOM = 1.25  # factor per step
WHEEL = 3  # cells per wheel step
TICKS = (0.0, 0.1, 0.5, 1.0)  # fractions of the largest value
BAR = 8  # px of the colour scale
MARGIN = 3 * SPACE  # px on either side of the colour scale for the outer numbers
SCALE_COLORS = 64
MAX_VECTOR_TOKENS = 128  # with more, an exported map is an image
TOP_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
ZOOMS = {"+": ZOOM, "-": 1 / ZOOM, "0": 0.0}


class Matrix(QWidget):
    """Paints the current head's map; a crosshair follows the mouse or the arrow keys.

    Ctrl+wheel, + and − zoom; 0 shows all again. The wheel and dragging scroll.

    Signals:
        moved: the visible rows and columns, or their size, changed.
    """

    moved = Signal()

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state = state
        self._picture: QPixmap | None = None
        self._labels: tuple[str, ...] = ()
        self.zoom = 1.0
        self.first = QPointF(0, 0)  # column and row at the top left, in cells
        self._cached_layout: tuple[object, tuple[bool, int, float]] | None = None  # key and layout
        self._press_position: QPointF | None = None  # of a click or drag
        self._is_dragged = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Attention head as a matrix"))
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(lambda: self.setAccessibleDescription(describe_head(state)))
        state.hovered_changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(px(90 * SPACE), px(90 * SPACE))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(40 * SPACE), px(24 * SPACE))

    # ── layout ───────────────────────────────────────────────────────────────────────────────

    @property
    def has_labels(self) -> bool:
        """True if cells are large enough for labels."""
        return self._layout()[0]

    def cell_size(self) -> float:
        return self._layout()[2]

    def field(self) -> QRect:
        """Rectangle of the map in whole pixels, without labels."""
        _, margin, size = self._layout()
        full_size = size * len(self._state.tokens)
        width = min(full_size, self.width() - margin - 1)
        height = min(full_size, self.height() - margin - 1)
        return QRect(margin, margin, max(0, round(width)), max(0, round(height)))

    def cell(self, row: int, column: int) -> QRectF:
        """Rectangle of a weight; outside the field if not visible."""
        field, size = self.field(), self.cell_size()
        left = field.left() + (column - self.first.x()) * size
        return QRectF(left, field.top() + (row - self.first.y()) * size, size, size)

    def _layout(self) -> tuple[bool, int, float]:
        """True if tokens are labelled, the margin and the size of a cell, in px."""
        key = (self.width(), self.height(), self.zoom, self._labels)
        if self._cached_layout is None or self._cached_layout[0] != key:
            self._cached_layout = key, self._compute_layout()
        return self._cached_layout[1]

    def _compute_layout(self) -> tuple[bool, int, float]:
        margin = TITLE + self._labels_width()
        size = self._zoomed_size(margin)
        if size >= MIN_LABELLED_CELL:
            return True, margin, size
        return False, TITLE, min(self._zoomed_size(TITLE), MIN_LABELLED_CELL - 0.1)

    def _labels_width(self) -> int:
        widest = max(map(QFontMetricsF(mono_font()).horizontalAdvance, self._labels), default=0.0)
        available = min(self.width(), self.height())
        return min(round(widest) + 2 * SPACE, MAX_LABEL, round(MAX_LABEL_FRACTION * available))

    def _zoomed_size(self, margin: int) -> float:
        return min(self._fitted_size(margin) * self.zoom, MAX_CELL)

    def _fitted_size(self, margin: int) -> float:
        """Size of a cell at which all fit, in px."""
        available = min(self.width(), self.height()) - 1 - margin
        return max(0.0, available / max(1, len(self._state.tokens)))

    # ── zoom ─────────────────────────────────────────────────────────────────────────────────

    def set_zoom(self, zoom: float, anchor: QPointF | None = None) -> None:
        """Zoom up to MAX_CELL px per cell; the point `anchor` stays fixed."""
        field, before = QRectF(self.field()), self.cell_size()
        fixed = anchor if anchor is not None else field.center()
        if not before:
            return
        cell = (fixed - field.topLeft()) / before + self.first
        max_zoom = MAX_CELL / max(self._fitted_size(TITLE + self._labels_width()), 1e-9)
        self.zoom = max(1.0, min(zoom, max_zoom))
        self._picture = None
        field, size = QRectF(self.field()), self.cell_size()
        self.show_from(cell - (fixed - field.topLeft()) / size)

    def show_from(self, first: QPointF) -> None:
        """Scroll to this column and row at the top left, as far as possible."""
        field, size, count = self.field(), self.cell_size(), len(self._state.tokens)
        if not size:
            return
        last = count - field.width() / size, count - field.height() / size
        x, y = min(first.x(), last[0]), min(first.y(), last[1])
        self.first = QPointF(max(0.0, x), max(0.0, y))
        self._picture = None
        self.moved.emit()
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        steps = event.angleDelta() / 120
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.set_zoom(self.zoom * ZOOM ** steps.y(), event.position())
        elif self.zoom > 1:
            self.show_from(self.first - QPointF(steps.x(), steps.y()) * WHEEL)
        else:
            event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.show_from(self.first)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if is_theme_change(event) or event.type() == QEvent.Type.FontChange:
            self._cached_layout = None
            self.show_from(self.first)

    def _on_head(self) -> None:
        self._picture = None
        if self._labels is not self._state.names:
            self._labels = self._state.names
            self.show_from(self.first)
        self.update()

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def cell_at(self, point: QPoint) -> tuple[int, int]:
        """Row and column at a point; one is -1 on a label, both outside."""
        field, count = self.field(), len(self._state.tokens)
        size = self.cell_size()
        if not count or not size:
            return -1, -1
        column = int((point.x() - field.left()) / size + self.first.x())
        row = int((point.y() - field.top()) / size + self.first.y())
        row = -1 if point.y() < field.top() else row
        column = -1 if point.x() < field.left() else column
        is_outside = point.x() > field.right() or point.y() > field.bottom()
        if is_outside or not (row < count and column < count) or (row < 0 and column < 0):
            return -1, -1
        return row, column

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press_position is None:
            self._state.hover(*self.cell_at(event.position().toPoint()))
            return
        distance = event.position() - self._press_position
        if self._is_dragged or distance.manhattanLength() >= QApplication.startDragDistance():
            self._is_dragged, self._press_position = True, event.position()
            self.show_from(self.first - distance / max(self.cell_size(), 1e-9))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press_position, self._is_dragged = event.position(), False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._press_position is None:
            return
        self._press_position = None
        if not self._is_dragged:
            self._state.pick(*self.cell_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._state.hover(-1, -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step, last = arrow_step(event), len(self._state.tokens) - 1
        row, column = self._state.hovered
        if is_press(event):
            self._state.pick(row, column)
        elif event.text() in ZOOMS:
            self.set_zoom(self.zoom * ZOOMS[event.text()])
        elif step is None or last < 0:
            super().keyPressEvent(event)
        else:
            row, column = max(row, 0) + step[0], max(column, 0) + step[1]
            self._state.hover(clamp(row, last), clamp(column, last))
            self._scroll_to(*self._state.hovered)

    def _scroll_to(self, row: int, column: int) -> None:
        field, size = self.field(), max(self.cell_size(), 1e-9)
        columns, rows = field.width() / size, field.height() / size
        x = min(max(self.first.x(), column + 1 - columns), column)
        y = min(max(self.first.y(), row + 1 - rows), row)
        if QPointF(x, y) != self.first:
            self.show_from(QPointF(x, y))

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._state.tokens:
            return
        painter = QPainter(self)
        field = self.field()
        if self._picture is None:
            self._picture = self._draw(field)
        painter.drawPixmap(field.topLeft(), self._picture)
        painter.setPen(QPen(colour(Role.ACCENT if self.hasFocus() else Role.BORDER), 1))
        painter.drawRect(QRectF(field).adjusted(-0.5, -0.5, 0.5, 0.5))
        self._paint_titles(painter, field)
        if self.has_labels:
            self._paint_tokens(painter)
        painter.setClipRect(QRectF(field).adjusted(-1, -1, 1, 1))
        self._paint_crosshair(painter, QRectF(field))

    def _draw(self, field: QRect) -> QPixmap:
        ratio, state = self.devicePixelRatioF(), self._state
        width, height = (max(1, round(side * ratio)) for side in (field.width(), field.height()))
        vmax, count = state.maps.vmax, len(state.tokens)
        size = max(self.cell_size() * ratio, 1e-9)
        if self.zoom == 1:
            shown = resize_levels(levels(state.map, vmax), width)
        else:
            left, top = self.first.x() * size, self.first.y() * size
            columns = np.minimum((np.arange(width) + 0.5 + left) // size, count - 1).astype(int)
            rows = np.minimum((np.arange(height) + 0.5 + top) // size, count - 1).astype(int)
            first, last = (rows[0], columns[0]), (rows[-1] + 1, columns[-1] + 1)
            part = levels(state.map[first[0] : last[0], first[1] : last[1]], vmax)
            shown = part[(rows - first[0])[:, None], (columns - first[1])[None, :]]
        pixmap = QPixmap.fromImage(picture(np.ascontiguousarray(shown)))
        pixmap.setDevicePixelRatio(ratio)
        return pixmap

    def _paint_titles(self, painter: QPainter, field: QRect) -> None:
        painter.setFont(font("small"))
        painter.setPen(colour(Role.MUTED))
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
        keys = self.tr("Key tokens →")
        painter.drawText(QRectF(field.left(), 0, max(field.width(), 90), TITLE), align, keys)
        size, queries = QSizeF(max(field.height(), 90), TITLE), self.tr("← Query tokens")
        draw_upright(painter, QPointF(0, field.bottom()), size, queries, TOP_RIGHT)

    def _paint_tokens(self, painter: QPainter) -> None:
        """Label every visible row and column."""
        state, size, field = self._state, self.cell_size(), self.field()
        painter.setFont(name_font(size))
        (row, column), margin = state.hovered, self._layout()[1]
        available = margin - TITLE - SPACE
        pens = colour(Role.MUTED), colour(Role.TEXT)
        first, last = self.first, len(state.names)
        metrics, right = painter.fontMetrics(), Qt.TextElideMode.ElideRight
        for index in range(int(first.y()), min(last, int(first.y() + field.height() / size) + 1)):
            cell = self.cell(index, 0)
            if field.top() <= cell.center().y() <= field.bottom():
                painter.setPen(pens[index == row])
                name = metrics.elidedText(state.names[index], right, available)
                painter.drawText(QRectF(TITLE, cell.top(), available, cell.height()), RIGHT, name)
        painter.save()
        painter.rotate(-90)  # then x is −y, and y is x
        for index in range(int(first.x()), min(last, int(first.x() + field.width() / size) + 1)):
            cell = self.cell(0, index)
            if field.left() <= cell.center().x() <= field.right():
                painter.setPen(pens[index == column])
                name = metrics.elidedText(state.names[index], right, available)
                painter.drawText(QRectF(SPACE - margin, cell.left(), available, size), LEFT, name)
        painter.restore()

    def _paint_crosshair(self, painter: QPainter, field: QRectF) -> None:
        """Mark the row and column under the mouse, and the selected tokens."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for row, column, pen in (
            (self._state.picked, self._state.target, QPen(colour(PICKED), 1.5)),
            (*self._state.hovered, QPen(colour(Role.TEXT, 0.8), 1)),
        ):
            painter.setPen(pen)
            cell = self.cell(row, column)
            if row >= 0:
                painter.drawRect(QRectF(field.left(), cell.top(), field.width(), cell.height()))
            if column >= 0:
                painter.drawRect(QRectF(cell.left(), field.top(), cell.width(), field.height()))


class Legend(QWidget):
    """Colour bar from 0 to the largest value, on a square-root scale."""

    def __init__(self, maps: AttentionMaps) -> None:
        super().__init__()
        self._maps = maps
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Colour scale"))
        maps.thumbnails_changed.connect(self._on_thumbnails)
        self._on_thumbnails()

    def _on_thumbnails(self) -> None:
        text = self.tr("The stronger the colour, the larger the value, from 0 to {0}.")
        description = text.format(decimal(self._maps.vmax, 2))
        if description != self.accessibleDescription():
            self.setAccessibleDescription(description)
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(50 * SPACE, BAR + round(font("small").pointSizeF() * 2) + SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(36 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        bar = QRectF(MARGIN, 1, self.width() - 2 * MARGIN, BAR)
        paint_scale(QPainter(self), bar, self._maps.vmax, colour, font("small"))


def paint_scale(
    painter: QPainter, bar: QRectF, vmax: float, palette: Palette, label_font: QFont
) -> None:
    """Paint a colour bar from 0 to `vmax` on a square-root scale, with numbers below."""
    width, colors = bar.width() / SCALE_COLORS, level_colors(palette)
    for step in range(SCALE_COLORS):
        box = QRectF(bar.left() + step * width, bar.top(), width + 0.5, bar.height())
        painter.fillRect(box, QColor(colors[step * MAX_LEVEL // (SCALE_COLORS - 1)]))
    painter.setPen(palette(Role.BORDER, 1.0))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(bar)
    painter.setFont(label_font)
    painter.setPen(palette(Role.MUTED, 1.0))
    for tick in TICKS:
        x = bar.left() + bar.width() * tick**0.5
        box = QRectF(x - 30, bar.bottom() + 2, 60, 2 * painter.fontMetrics().height())
        text = decimal(tick * vmax, 2) if tick else "0"
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, text)


def paint_map(painter: QPainter, weights: np.ndarray, field: QRectF, vmax: float) -> None:
    """Paint float32 [S, S] as squares, or as an image if there are many tokens."""
    shown = levels(weights, vmax)
    if len(shown) > MAX_VECTOR_TOKENS:
        painter.drawImage(field, picture(np.ascontiguousarray(shown), print_color))
    else:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        side, colors = field.width() / max(1, len(shown)), level_colors(print_color)
        for row, column, count, level in _runs(shown):
            box = QRectF(column * side, row * side, count * side, side)
            painter.fillRect(box.translated(field.topLeft()), QColor(colors[level]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(print_color(Role.BORDER))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(field)


def _runs(image: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """Yield row, column, length and level of runs of equal cells; white ones are skipped."""
    for row, line in enumerate(image):
        starts = np.flatnonzero(np.append(True, line[1:] != line[:-1])).tolist()
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            if line[start]:
                yield row, start, end - start, int(line[start])
