"""Grid of small maps of all heads in all layers, with its controls; on screen and for export.

Shapes: L layers, H heads, P pixels.
"""

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
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
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFrame,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from app.pages.explore.captions import source
from app.pages.explore.panels.attention.lines import dashed, head_dashes, head_role
from app.pages.explore.panels.attention.maps import MAX_POOLED_SIDE, mosaic, picture
from app.pages.explore.panels.attention.matrix import ZOOM, ZOOMS, Legend, paint_scale
from app.pages.explore.panels.attention.state import MEASURES, AttentionState
from app.pages.explore.paper import CENTER, LEFT, RIGHT
from app.theme import PICKED, SPACE, Role, colour, is_theme_change, print_color, px
from app.translation import in_language, tr
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton
from app.widgets.keys import arrow_step, is_press
from app.widgets.screen import set_shown
from app.widgets.text.labels import OneLine, tooltip
from app.widgets.text.numbers import decimal

MIN_SIDE = 6  # px of a head; below it, the area scrolls
MAX_SIDE = 512  # px of a head
GAP = 3  # px between heads
MAX_DIM_OPACITY = 0.88  # of the tint over the head with the smallest value
FIGURE_SIDE, FIGURE_GAP = 64, 4  # px of a head and between heads in the saved figure
MARGIN = 24.0  # px for layer and head numbers in the saved figure
SCALE = QRectF(MARGIN, 18, 220, 10)  # px of the colour scale below its heads


class HeadGrid(QWidget):
    """Layers from top to bottom, heads from left to right; arrow keys move between heads.

    Ctrl+wheel, + and − zoom; 0 shows all again. Dragging scrolls.

    Signals:
        hovered: layer and head under the mouse; -1 and -1 for none.
    """

    hovered = Signal(int, int)

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state, self._maps = state, state.maps
        self.grid_shape = (0, 0)
        self._picture: QPixmap | None = None
        self.tint: np.ndarray | None = None  # 0 to 1, float [layers so far, H]
        self._hovered = (-1, -1)
        self.zoom = 1.0
        self._press_position: QPoint | None = None  # global, of a click or drag
        self._is_dragged = False
        self._cached_margins: tuple[int, int] | None = None  # until the font changes
        self._cached_side: int | None = None  # px of a head, until the size changes
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("All attention heads"))
        self._maps.thumbnails_changed.connect(self._on_thumbnails)
        state.head_changed.connect(self._on_head)
        state.explore.heads_off_changed.connect(self.update)
        state.explore.sides_changed.connect(self.update)

    def _on_thumbnails(self) -> None:
        heads = self._maps.thumbnails
        size = (0, 0) if heads is None else (heads.shape[0], heads.shape[1])
        if size != self.grid_shape:
            self.grid_shape, self._cached_side = size, None
            self.updateGeometry()
        self._picture = None
        self.update()

    def _on_head(self) -> None:
        self.setAccessibleDescription(
            self.tr("Layer {0} of {1}, head {2} of {3}").format(
                self._state.layer + 1,
                self.grid_shape[0],
                self._state.head + 1,
                self.grid_shape[1],
            )
        )
        self.update()

    def show_tint(self, values: np.ndarray | None) -> None:
        """Dim heads with smaller values, float [L, H]; None dims nothing."""
        if values is not None and values.size:
            low, high = float(values.min()), float(values.max())
            values = (values - low) / (high - low) if high > low else np.ones_like(values)
        self.tint = values
        self.update()

    def set_zoom(self, zoom: float, anchor: QPoint | None = None) -> None:
        """Zoom; the point `anchor` stays fixed."""
        fitted_side = self._fitted_side()
        zoom = min(max(1.0, zoom), MAX_SIDE / max(1, fitted_side))
        if zoom == self.zoom:
            return
        fixed = anchor if anchor is not None else self.visibleRegion().boundingRect().center()
        old_step = self._side() + GAP
        self.zoom, self._picture, self._cached_side = zoom, None, None
        self.updateGeometry()
        factor = (self._side() + GAP) / old_step
        area = self._area()
        if area is not None:
            self.resize(self.sizeHint().expandedTo(area.viewport().size()))
            left, top = self._margins()
            for bar, position, margin in (
                (area.horizontalScrollBar(), fixed.x(), left),
                (area.verticalScrollBar(), fixed.y(), top),
            ):
                shift = round((position - margin) * factor + margin) - position
                bar.setMaximum(max(bar.maximum(), bar.value() + shift))
                bar.setValue(bar.value() + shift)
        self.update()

    def _area(self) -> QScrollArea | None:
        viewport = self.parentWidget()
        area = viewport.parentWidget() if viewport is not None else None
        return area if isinstance(area, QScrollArea) else None

    def cell(self, layer: int, head: int) -> QRectF:
        left, top = self._margins()
        step = self._side() + GAP
        return QRectF(left + head * step, top + layer * step, self._side(), self._side())

    def minimumSizeHint(self) -> QSize:
        return self._hint(MIN_SIDE)

    def sizeHint(self) -> QSize:
        return self._hint(28)

    def _hint(self, side: int) -> QSize:
        (layers, heads), (left, top) = self.grid_shape, self._margins()
        step = (side if self.zoom == 1 else self._side()) + GAP
        return QSize(left + max(heads, 4) * step, top + max(layers, 4) * step)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cached_side = None
        if self.zoom == 1:
            self._picture = None

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if is_theme_change(event) or event.type() == QEvent.Type.FontChange:
            self._picture, self._cached_margins, self._cached_side = None, None, None
            self.update()

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def head_at(self, point: QPoint) -> tuple[int, int]:
        """Layer and head at a point, or -1 and -1."""
        layers, heads = self.grid_shape
        left, top = self._margins()
        step = self._side() + GAP
        head, layer = (point.x() - left) // step, (point.y() - top) // step
        is_inside = 0 <= layer < layers and 0 <= head < heads
        return (layer, head) if is_inside else (-1, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press_position is not None:
            self._drag(event.globalPosition().toPoint())
        else:
            self._hover(self.head_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover((-1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press_position, self._is_dragged = event.globalPosition().toPoint(), False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._press_position is None:
            return
        layer, head = self.head_at(event.position().toPoint())
        was_click, self._press_position = not self._is_dragged, None
        if was_click and layer >= 0:
            has_alt = event.modifiers() & Qt.KeyboardModifier.AltModifier
            (self._state.switch_head if has_alt else self._state.selection.toggle)(layer, head)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        layer, head = self.head_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and layer >= 0:
            self._state.selection.pick(layer, head)

    def _drag(self, position: QPoint) -> None:
        assert self._press_position is not None
        offset = position - self._press_position
        if not self._is_dragged and offset.manhattanLength() < QApplication.startDragDistance():
            return
        self._is_dragged, self._press_position = True, position
        area = self._area()
        if area is not None:
            for bar, by in (
                (area.horizontalScrollBar(), offset.x()),
                (area.verticalScrollBar(), offset.y()),
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
        elif is_press(event) and self._hovered[0] >= 0:
            self._state.selection.toggle(*self._hovered)
        elif step is None:
            super().keyPressEvent(event)
        else:
            self._state.selection.pick(self._state.layer + step[0], self._state.head + step[1])

    def _hover(self, hovered: tuple[int, int]) -> None:
        if hovered != self._hovered:
            before, self._hovered = self._hovered, hovered
            self.hovered.emit(*hovered)
            for cell in (before, hovered):  # repaint only what changes, to keep up with the mouse
                self.update(self.cell(*cell).adjusted(-3, -3, 3, 3).toAlignedRect())

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        thumbnails, chosen = self._maps.thumbnails, self._state.heads
        if thumbnails is None:
            return
        painter = QPainter(self)
        picture = self._picture or self._draw(thumbnails)
        self._picture = picture
        step = self._picture_side() + self._gap()  # of the picture, in device pixels
        left, top = self._margins()
        if step == (self._side() + GAP) * self.devicePixelRatioF():
            rect = QRectF(picture.rect())
            size = rect.size() / self.devicePixelRatioF()
            painter.drawPixmap(QRectF(QPointF(left, top), size), picture, rect)
        else:
            self._paint_heads(painter, event.region(), picture, step)
        if self.tint is not None:
            self._paint_tint(painter, event.region(), self.tint)
        if event.rect().left() < left or event.rect().top() < top:
            self._paint_numbers(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(Role.BAD), 2))
        for layer, head in self._maps.side.heads_off:
            box = self.cell(layer, head).adjusted(3, 3, -3, -3)
            painter.drawLine(box.topLeft(), box.bottomRight())
            painter.drawLine(box.bottomLeft(), box.topRight())
        if self._hovered[0] >= 0:
            painter.setPen(QPen(colour(Role.MUTED), 1.5))
            painter.drawRect(self.cell(*self._hovered).adjusted(-1, -1, 1, 1))
        for index, cell in enumerate(chosen):
            is_current = index == len(chosen) - 1
            role = head_role(index, len(chosen))
            if len(chosen) == 1:
                role = PICKED if self.hasFocus() else Role.ACCENT
            pen = QPen(colour(role), 2.5 if is_current else 1.75)
            painter.setPen(dashed(pen, head_dashes(index, len(chosen))))
            painter.drawRect(self.cell(*cell).adjusted(-1.5, -1.5, 1.5, 1.5))

    def _paint_tint(self, painter: QPainter, region: QRegion, tint: np.ndarray) -> None:
        """Paint the background colour over each head, more opaque for smaller values."""
        layers, heads = self.grid_shape
        (left, top), side, box = self._margins(), self._side(), region.boundingRect()
        step, dim, values = side + GAP, colour(Role.WINDOW), tint.tolist()
        for layer in range(max(0, (box.top() - top) // step), min(layers, len(values))):
            y = top + layer * step
            for head in range(max(0, (box.left() - left) // step), heads):
                x = left + head * step
                if x > box.right() or y > box.bottom():
                    break
                dim.setAlphaF(MAX_DIM_OPACITY * (1 - values[layer][head]))
                painter.fillRect(x, y, side, side, dim)

    def _paint_heads(self, painter: QPainter, region: QRegion, picture: QPixmap, step: int) -> None:
        """Scale each visible head from its part of the picture; `step` includes the gap."""
        inner = step - self._gap()
        for layer, head in np.ndindex(self.grid_shape):
            box = self.cell(layer, head)
            if region.intersects(box.toAlignedRect()):
                painter.drawPixmap(box, picture, QRectF(head * step, layer * step, inner, inner))
                painter.setPen(QPen(colour(Role.BORDER), 1))
                painter.drawRect(_frame_rect(box))

    def _draw(self, heads: np.ndarray) -> QPixmap:
        """Draw all heads in device pixels; when zoomed, one pixel per pixel of a map."""
        side, gap = self._picture_side(), self._gap()
        pixmap = QPixmap.fromImage(picture(mosaic(heads, side, gap)))
        if self.zoom == 1:
            painter = QPainter(pixmap)
            painter.setPen(QPen(colour(Role.BORDER), self.devicePixelRatioF()))
            step = side + gap
            for layer, head in np.ndindex(heads.shape[:2]):
                painter.drawRect(_frame_rect(QRectF(head * step, layer * step, side, side)))
            painter.end()
        return pixmap

    def _picture_side(self) -> int:
        """Side of a head in the picture, in device pixels."""
        side, thumbnails = round(self._side() * self.devicePixelRatioF()), self._maps.thumbnails
        if self.zoom == 1 or thumbnails is None:
            return side
        return min(side, int(thumbnails.shape[-1]))

    def _gap(self) -> int:
        return round(GAP * self.devicePixelRatioF())

    def _paint_numbers(self, painter: QPainter) -> None:
        (layers, heads), current = self.grid_shape, self._state.selection.current
        left, top = self._margins()
        painter.setFont(_small_font(self.font()))
        metrics = painter.fontMetrics()
        step = self._side() + GAP
        rows = max(1, -(-metrics.height() // step))
        columns = max(1, -(-(metrics.horizontalAdvance("00") + 4) // step))
        pens = colour(Role.MUTED), colour(Role.TEXT)
        for layer in range(0, layers, rows):
            painter.setPen(pens[layer == current[0]])
            box = QRectF(0, self.cell(layer, 0).center().y() - 10, left - 2 * SPACE, 20)
            align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, align, str(layer + 1))
        for head in range(0, heads, columns):
            painter.setPen(pens[head == current[1]])
            box = QRectF(self.cell(0, head).center().x() - 20, 0, 40, top - SPACE)
            align = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom
            painter.drawText(box, align, str(head + 1))

    def _margins(self) -> tuple[int, int]:
        """Space for the numbers on the left and at the top."""
        if self._cached_margins is None:
            metrics = QFontMetrics(_small_font(self.font()))
            width = metrics.horizontalAdvance("00") + 3 * SPACE
            self._cached_margins = width, metrics.height() + SPACE
        return self._cached_margins

    def _side(self) -> int:
        """Side of a head at this zoom, in px."""
        if self._cached_side is None:
            self._cached_side = min(MAX_SIDE, round(self._fitted_side() * self.zoom))
        return self._cached_side

    def _fitted_side(self) -> int:
        """Largest side at which all heads fit, in px."""
        layers, heads = self.grid_shape
        if not layers or not heads:
            return MIN_SIDE
        area, left_top = self._area(), self._margins()
        available = self.size() if area is None else area.viewport().size()
        width = (available.width() - left_top[0] - 2) // heads - GAP
        height = (available.height() - left_top[1] - 2) // layers - GAP
        return max(MIN_SIDE, min(MAX_SIDE, width, height))


def _frame_rect(box: QRectF) -> QRectF:
    """Frame on the outermost pixels of a head, to separate heads of similar colour."""
    return box.adjusted(0.5, 0.5, -0.5, -0.5)


def _small_font(font: QFont) -> QFont:
    smaller = QFont(font)
    smaller.setPointSizeF(font.pointSizeF() * 0.85)
    return smaller


class HeadGridView(QWidget):
    """The head grid with its controls; a click selects heads.

    The panel lays out `measure`, `help`, `models`, `legend` and `list`, which are created here.
    """

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state, self._maps = state, state.maps
        self.grid, self.legend = HeadGrid(state), Legend(state.maps)
        self.status = OneLine("", "small")
        self.models = buttons.Segments(list(state.explore.side_titles), self.tr("Model"))
        self.measure, self.help = self._make_measure_box()
        self.area = scroll_area(self.grid)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.switch = buttons.icon_button(
            "eye-off", self.tr("Ablate or restore the current head (Alt+click)"), self._on_switch
        )
        self.list = buttons.icon_button(
            "layers", self.tr("Show the table of all heads"), checkable=True
        )
        self.footer = layouts.row((self.status, 1), self.list, self.switch, spacing=SPACE)
        margins = (0, 0, 2 * SPACE, 0)
        layouts.column((self.area, 1), self.footer, parent=self, spacing=SPACE, margins=margins)
        self.grid.setToolTip(
            tooltip(
                self.tr(
                    "Click: add or remove a head. Double-click: show only this head. "
                    "Alt+click: ablate or restore the head. Ctrl+wheel: zoom."
                )
            )
        )
        self.setMinimumWidth(px(50 * SPACE))
        self.models.chosen.connect(lambda index: state.show_side(bool(index)))
        state.explore.heads_off_changed.connect(self._update_status)
        self.grid.hovered.connect(self._update_status)
        self._maps.thumbnails_changed.connect(self._update_status)
        self._maps.query_changed.connect(self._update_status)
        state.head_changed.connect(self._on_head)
        state.explore.sides_changed.connect(self._on_sides)
        self._on_sides()
        self._on_head()

    def _make_measure_box(self) -> tuple[QComboBox, QStackedWidget]:
        measure, pages = ComboBox(), QStackedWidget()
        measure.setAccessibleName(self.tr("Measure"))
        measure.addItems([in_language(entry.name) for entry in MEASURES])
        pages.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        for entry in MEASURES:
            pages.addWidget(HelpButton(entry.help))
        measure.currentIndexChanged.connect(self._on_measure)
        return measure, pages

    def _on_measure(self, index: int) -> None:
        self.help.setCurrentIndex(index)
        self._maps.set_measure(MEASURES[index].measure)
        self._update_status()

    def _on_switch(self) -> None:
        self._state.switch_head(*self._state.selection.current)

    def _on_sides(self) -> None:
        set_shown(self.models, self._state.explore.is_compared)
        for index, title in enumerate(self._state.explore.side_titles):
            self.models.group.button(index).setText(title)
        self.models.choose(int(self._maps.side.index))

    def _on_head(self) -> None:
        self.switch.setEnabled(self._maps.has_heads)
        self._update_status()

    def _update_status(self, layer: int = -1, head: int = -1) -> None:
        """Describe the head under the mouse, the progress, or the selection."""
        maps, count = self._maps, len(self._state.heads)
        if layer >= 0:
            text = self.tr("Layer {0}, head {1}") if maps.has_heads else self.tr("Layer {0}")
            self.status.setText(text.format(layer + 1, head + 1))
        elif maps.query.is_waiting and maps.computed_layers < maps.size[0]:
            text = self.tr("{0} of {1} layers computed …")
            self.status.setText(text.format(maps.computed_layers, maps.size[0]))
        elif maps.query.is_waiting:
            self.status.setText(self.tr("Running the model …"))
        elif maps.has_heads:
            self.status.setText(self.tr("%Ln head(s) selected.", "", count))
        else:
            self.status.setText(self.tr("%Ln layer(s) selected.", "", count))


def scroll_area(inner: QWidget) -> QScrollArea:
    """A vertical scroll area without frame or background."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.viewport().setAutoFillBackground(False)
    inner.setProperty("bare", True)
    area.setWidget(inner)
    return area


def grid_figure(state: AttentionState) -> Figure | None:
    """Figure of the grid of all heads; None without maps."""
    levels, weights = state.maps.thumbnails, state.maps.weights
    if levels is None or weights is None:
        return None
    layers, heads = levels.shape[:2]
    step = FIGURE_SIDE + FIGURE_GAP
    name, vmax = in_language(state.texts.value), state.maps.vmax

    def paint(painter: QPainter, _size: object) -> None:
        painter.setFont(print_font(11))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for layer, head in np.ndindex(layers, heads):
            box = QRectF(MARGIN + head * step, MARGIN + layer * step, FIGURE_SIDE, FIGURE_SIDE)
            painter.drawImage(box, picture(np.ascontiguousarray(levels[layer, head]), print_color))
            painter.setPen(print_color(Role.BORDER))
            painter.drawRect(box)
        painter.setPen(print_color(Role.MUTED))
        for head in range(heads):
            above = QRectF(MARGIN + head * step, 0, FIGURE_SIDE, MARGIN - 4)
            painter.drawText(above, CENTER, str(head + 1))
        for layer in range(layers):
            left = QRectF(0, MARGIN + layer * step, MARGIN - 6, FIGURE_SIDE)
            painter.drawText(left, RIGHT, str(layer + 1))
        foot = MARGIN + layers * step + FIGURE_GAP
        painter.drawText(QRectF(MARGIN, foot, SCALE.width(), SCALE.y()), LEFT, name)
        paint_scale(painter, SCALE.translated(0, foot), vmax, print_color, print_font(11))

    def table() -> Table:
        rows = []
        for layer, head in np.ndindex(len(weights), heads):
            shown = np.asarray(weights[layer, head])
            row, column = np.unravel_index(int(shown.argmax()), shown.shape)
            strongest = float(shown[row, column])
            rows.append((layer + 1, head + 1, int(row) + 1, int(column) + 1, strongest))
        header = ("layer", "head", "query number", "key number", f"strongest {name.lower()}")
        return Table(header, rows)

    text = tr(
        "{0} of all heads and tokens: layers from top to bottom, heads from left to right; query "
        "tokens in rows, key tokens in columns; square-root colour scale from 0 to {1}. With more "
        "than {2} tokens, the largest value of each block is shown."
    ).format(in_language(state.texts.name), decimal(vmax, 2), MAX_POOLED_SIDE)
    width, height = MARGIN + heads * step, MARGIN + layers * step + 44 + FIGURE_GAP
    return Figure(
        name="attention-grid",
        title=tr("Attention: all heads"),
        caption=f"{text} {source(state.explore, state.maps.side.index)}",
        size=QSize(round(width), round(height)),
        paint=paint,
        array=weights,
        table=table,
    )
