"""Attention of the chosen heads, drawn as lines from query tokens (left) to key tokens (right).

Thousands of lines take too long for the GUI thread. A base picture of the visible part and its
surroundings is drawn in the background; only the lines of the token under the mouse are painted
over it.

Shapes: S shown tokens.
"""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import background
from app.pages.explore.panels.attention.links import (
    MAX_LINES_OF_TOKEN,
    MIN_WEIGHT,
    Links,
    are_drawn_alike,
    token_links,
)
from app.pages.explore.panels.attention.state import AttentionState, describe_head
from app.pages.explore.paper import LEFT, RIGHT
from app.resources import mono_font
from app.theme import (
    CHART,
    DASHES,
    PICKED,
    SERIES_DASHES,
    SPACE,
    Role,
    colour,
    is_dark,
    is_theme_change,
    px,
)
from app.timers import debounced
from app.widgets.keys import clamp, horizontal_step, is_press, vertical_step

FADED_OPACITY = 0.12  # of all lines while a token is highlighted
BUCKETS = 12  # levels of opacity; lines of a level are drawn with one call
MAX_THICK_LINES = 400  # more lines are drawn thinner
LINES_PER_CALL = 10  # each call holds the GIL; fewer per call do not help
REDRAW_DELAY_MS = 100  # after the last change of the threshold
MAX_COLUMN_FRACTION = 0.3  # of the width, for a column of tokens


class LinesView(QWidget):
    """Paints the links of the chosen heads, for a vertical scroll area."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state = state
        self._base: QImage | None = None
        self._origin = QPoint()  # top left of the base picture
        self._top = self._bottom = 0  # y range in px of the base picture
        self._drawing: background.Job | None = None
        self._smoothing = debounced(self, REDRAW_DELAY_MS, self._draw_base)
        self._drawn: tuple[tuple[np.ndarray, ...], tuple[Links, ...]] = ((), ())  # maps, links
        self._matrix_row_height = 0.0  # px
        self._max_width: float | None = None  # px of the widest token, cached
        self._labels: tuple[str, ...] = ()  # names that it was measured for
        self._labels_pixmap: tuple[object, QPixmap] | None = None  # with its key
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)
        self.setAccessibleName(self.tr("Attention head as lines"))
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(self._on_links)
        state.hovered_changed.connect(self.update)

    @property
    def is_idle(self) -> bool:
        """True if nothing is being drawn."""
        return self._drawing is None and not self._smoothing.isActive()

    # ── layout ───────────────────────────────────────────────────────────────────────────────

    def set_row_height(self, height: float) -> None:
        """Use the row height of the matrix; 0 if it shows no tokens."""
        if height != self._matrix_row_height:
            self._matrix_row_height, self._max_width, self._labels_pixmap = height, None, None
            self.updateGeometry()
            self._draw_base()

    def row_height(self) -> float:
        """Row height of the matrix, or one that fits the font."""
        return self._matrix_row_height or float(QFontMetricsF(mono_font()).height())

    def sizeHint(self) -> QSize:
        height = self.row_height() * max(1, len(self._state.tokens))
        return QSize(px(90 * SPACE), round(height))

    def minimumSizeHint(self) -> QSize:
        return QSize(50 * SPACE, self.sizeHint().height())

    def line_ends(self) -> tuple[float, float]:
        """x at which lines start and end."""
        if self._max_width is None:
            metrics = QFontMetricsF(name_font(self.row_height()))
            texts = set(self._state.names)
            self._max_width = max((metrics.horizontalAdvance(text) for text in texts), default=0.0)
        column = min(self._max_width + 3 * SPACE, self.width() * MAX_COLUMN_FRACTION)
        return column, self.width() - column

    # ── updates ─────────────────────────────────────────────────────────────────────────

    def _on_head(self) -> None:
        if self._labels is not self._state.names:
            self._labels, self._max_width = self._state.names, None
            self.updateGeometry()
        self.update()

    def _on_links(self) -> None:
        """Redraw if the drawn links changed; the limit on their number often hides a change."""
        self.setAccessibleDescription(describe_head(self._state))
        before, self._drawn = self._drawn, (self._state.shown_maps, self._state.drawn)
        if before[0] is not self._drawn[0]:
            self._draw_base()
        elif not are_drawn_alike(before[1], self._drawn[1]):
            self._draw_preview()
            self._smoothing.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._draw_base()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if is_theme_change(event) or event.type() == QEvent.Type.FontChange:
            self._max_width, self._labels_pixmap = None, None
            self._draw_base()
            self.update()

    def _draw_preview(self) -> None:
        """Draw the strongest visible links immediately while the threshold is dragged.

        Drawing all of them antialiased takes longer than a frame and follows when the slider stops.
        """
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        visible = self._lines_area() & self.visibleRegion().boundingRect()
        if visible.isEmpty():
            return
        state, ratio = self._state, self.devicePixelRatioF()
        self._origin = visible.topLeft()
        count = MAX_THICK_LINES // max(1, len(state.drawn))
        self._base = draw(
            [links.first(count) for links in state.drawn],
            visible.size(),
            visible.top(),
            self.row_height(),
            ratio,
            self._colors(),
            state.maps.vmax,
            antialiased=False,
        )
        self.update()

    def _lines_area(self) -> QRect:
        left, right = self.line_ends()
        return QRect(round(left), 0, round(right - left), self.height())

    def _draw_base(self) -> None:
        """Draw all links in the background; the old picture stays until then."""
        self._smoothing.stop()
        if self._drawing is not None:
            self._drawing.cancel()
        visible = self.visibleRegion().boundingRect()
        area = self._lines_area() & visible.adjusted(0, -visible.height(), 0, visible.height())
        self._top, self._bottom = area.top(), area.bottom()
        if not self._state.tokens or area.isEmpty():
            self._base = None
            self.update()
            return
        drawn, height, colors = self._state.drawn, self.row_height(), self._colors()
        origin, ratio, vmax = area.topLeft(), self.devicePixelRatioF(), self._state.maps.vmax

        def work(progress: background.Progress) -> tuple[QImage, QPoint]:
            cancelled = progress.cancelled
            size, top = area.size(), origin.y()
            return draw(drawn, size, top, height, ratio, colors, vmax, cancelled=cancelled), origin

        self._drawing = background.run(
            self, work, self._on_drawn, progress=lambda _done, _total: None
        )

    def _on_drawn(self, picture: tuple[QImage, QPoint]) -> None:
        self._drawing = None
        self._base, self._origin = picture
        self.update()

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def token_at(self, point: QPointF) -> tuple[int, int]:
        """(query, key) indices of the token at a point; the other is -1, both if there is none."""
        left, right = self.line_ends()
        row = int(point.y() // self.row_height())
        row = row if 0 <= row < len(self._state.tokens) else -1
        if point.x() <= left:
            return row, -1
        return (-1, row) if point.x() >= right else (-1, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._state.hover(*self.token_at(event.position()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._state.pick(*self.token_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._state.hover(-1, -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, column = self._state.hovered
        last, token = len(self._state.tokens) - 1, max(row, column)
        is_key = row < 0 <= column
        down, right = vertical_step(event), horizontal_step(event)
        if is_press(event):
            self._state.pick(row, column)
        elif down and last >= 0:
            token = clamp(token + down, last)
            self._state.hover(*((-1, token) if is_key else (token, -1)))
        elif right and token >= 0:
            self._state.hover(*((-1, token) if right > 0 else (token, -1)))
        else:
            super().keyPressEvent(event)

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        state = self._state
        if not state.tokens:
            return
        visible = self.visibleRegion().boundingRect()
        if visible.top() < self._top or visible.bottom() > self._bottom:
            self._draw_base()  # scrolled beyond the picture
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left, right = self.line_ends()
        row, column = self._highlighted()
        is_highlighted = row >= 0 or column >= 0
        if self._base is not None:
            painter.setOpacity(FADED_OPACITY if is_highlighted else 1.0)
            painter.drawImage(self._origin, self._base)
            painter.setOpacity(1.0)
        if is_highlighted:
            painter.translate(left, 0)
            vmax = state.maps.vmax
            for weights, color in zip(state.shown_maps, self._colors(), strict=True):
                count = MAX_LINES_OF_TOKEN // len(state.shown_maps)
                links = token_links(weights, row, column, MIN_WEIGHT * vmax, count)
                paint_links(painter, links, right - left, self.row_height(), color, vmax)
            painter.translate(-left, 0)
        self._paint_tokens(painter, QRectF(event.rect()), row, column)

    def _colors(self) -> list[QColor]:
        """A colour for each chosen head, fainter the more there are."""
        count = len(self._state.heads)
        return [colour(head_role(n, count), count**-0.5) for n in range(count)]

    def _highlighted(self) -> tuple[int, int]:
        row, column = self._state.hovered
        if row < 0 and column < 0:
            return self._state.picked, -1
        return (row, -1) if row >= 0 else (-1, column)

    def _paint_tokens(self, painter: QPainter, visible: QRectF, row: int, column: int) -> None:
        """Paint both columns; a tint shows the attention to or from the highlighted token."""
        state, height, vmax = self._state, self.row_height(), self._state.maps.vmax
        left, right = self.line_ends()
        keys = state.map[row] if row >= 0 else None
        queries = state.map[:, column] if column >= 0 else None
        first = max(0, int(visible.top() // height))
        last = min(len(state.tokens), int(visible.bottom() // height) + 1)
        painter.setPen(Qt.PenStyle.NoPen)
        for index in range(first, last):
            tint = queries[index] / vmax if queries is not None else float(index == row)
            self._tint(painter, self._box(index, True), float(tint))
            tint = keys[index] / vmax if keys is not None else float(index == column)
            self._tint(painter, self._box(index, False), float(tint))
        layout = (height, left, right, self.devicePixelRatioF(), is_dark())
        key = (self._labels, first, last, layout)
        if self._labels_pixmap is None or self._labels_pixmap[0] != key:
            self._labels_pixmap = key, self._draw_names(first, last)
        painter.drawPixmap(QPointF(0, first * height), self._labels_pixmap[1])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(PICKED), 1.5))
        for index, is_query in ((state.picked, True), (state.target, False)):
            if first <= index < last:
                painter.drawRoundedRect(_inset(self._box(index, is_query)), 3, 3)

    def _box(self, index: int, is_query: bool) -> QRectF:
        height, (left, right) = self.row_height(), self.line_ends()
        if is_query:
            return QRectF(0, index * height, left, height)
        return QRectF(right, index * height, self.width() - right, height)

    def _tint(self, painter: QPainter, box: QRectF, tint: float) -> None:
        if tint > MIN_WEIGHT:
            painter.setBrush(colour(Role.ACCENT, 0.08 + 0.4 * min(1.0, tint)))
            painter.drawRoundedRect(_inset(box), 3, 3)

    def _draw_names(self, first: int, last: int) -> QPixmap:
        """Draw the names of both columns, which are the same for every head."""
        ratio, height = self.devicePixelRatioF(), self.row_height()
        pixmap = QPixmap(QSizeF(self.width() * ratio, (last - first) * height * ratio).toSize())
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.translate(0, -first * height)
        painter.setFont(name_font(self.row_height()))
        masked, tokens, metrics = set(self._state.masked), self._state.tokens, painter.fontMetrics()
        accent, muted, plain = colour(Role.ACCENT), colour(Role.MUTED), colour(Role.TEXT)
        for index in range(first, last):
            pen = muted if tokens[index].special else plain
            painter.setPen(accent if index in masked else pen)
            left, right = self._box(index, True), self._box(index, False)
            width = round(left.width() - 2 * SPACE)
            name = metrics.elidedText(self._labels[index], Qt.TextElideMode.ElideRight, width)
            painter.drawText(left.adjusted(SPACE, 0, -1.5 * SPACE, 0), RIGHT, name)
            painter.drawText(right.adjusted(1.5 * SPACE, 0, 0, 0), LEFT, name)
        painter.end()
        return pixmap


def _inset(box: QRectF) -> QRectF:
    return box.adjusted(1, 0.5, -1, -0.5)


# ── drawing, on screen and for export ────────────────────────────────────────────────────────


def name_font(height: float) -> QFont:
    """Font for rows of this height, shared by lines and matrix."""
    font = mono_font()
    largest = QFontMetricsF(font).height()
    if height < largest:
        font.setPixelSize(max(7, round(height * 0.82)))
    return font


def head_role(index: int, count: int) -> Role:
    """Colour of a chosen head; the accent if it is the only one."""
    return Role.ACCENT if count == 1 else CHART[index % len(CHART)]


def head_dashes(index: int, count: int) -> tuple[float, ...]:
    """Dashes of a chosen head, so that colour is not the only cue."""
    return () if count == 1 else DASHES[SERIES_DASHES[index % len(SERIES_DASHES)]]


def dashed(pen: QPen, dashes: tuple[float, ...]) -> QPen:
    if dashes:
        pen.setDashPattern(list(dashes))
    return pen


def draw(
    head_links: Sequence[Links],
    size: QSize,
    top: int,
    row_height: float,
    ratio: float,
    colors: Sequence[QColor],
    vmax: float = 1.0,
    antialiased: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
) -> QImage:
    """Draw the links from `top` on as an image of `size`, with `ratio` device pixels per pixel.

    Stops early once `cancelled`.
    """
    image = QImage(size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, antialiased)
    painter.translate(0, -top)
    visible = (top / row_height, (top + size.height()) / row_height)  # rows
    for index, (links, color) in enumerate(zip(head_links, colors, strict=False)):
        dashes = head_dashes(index, len(colors)) if antialiased else ()
        crossing = _crossing(links, *visible)
        paint_links(painter, crossing, size.width(), row_height, color, vmax, dashes, cancelled)
    painter.end()
    return image


def _crossing(links: Links, first: float, last: float) -> Links:
    starts_above = np.minimum(links.rows, links.columns) + 0.5 <= last
    crosses = starts_above & (np.maximum(links.rows, links.columns) + 0.5 >= first)
    rows, columns, weights, count = links
    return Links(rows[crosses], columns[crosses], weights[crosses], count)


def paint_links(
    painter: QPainter,
    links: Links,
    width: float,
    row_height: float,
    color: QColor,
    vmax: float = 1.0,
    dashes: tuple[float, ...] = (),
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Paint straight lines across `width` px; stronger ones are more opaque and on top.

    A weight of `vmax` is as opaque as `color`. More than MAX_THICK_LINES are not dashed: dashes
    would not be visible, and would take many times as long.
    """
    if not len(links.weights):
        return
    opacity = np.clip(np.sqrt(links.weights / vmax), 0.04, 1.0)
    bucket = np.minimum((opacity * BUCKETS).astype(int), BUCKETS - 1)
    thickness = 1.6 if len(links.weights) <= MAX_THICK_LINES else 1.0  # 1.6: twice the time
    for index in range(BUCKETS):
        in_bucket = bucket == index
        if not in_bucket.any():
            continue
        faded = QColor(color)
        faded.setAlphaF((index + 0.5) / BUCKETS * color.alphaF())
        pen = QPen(faded, thickness)
        painter.setPen(dashed(pen, dashes) if len(links.weights) <= MAX_THICK_LINES else pen)
        starts = ((links.rows[in_bucket] + 0.5) * row_height).tolist()
        ends = ((links.columns[in_bucket] + 0.5) * row_height).tolist()
        lines = [QLineF(0, y0, width, y1) for y0, y1 in zip(starts, ends, strict=True)]
        for first in range(0, len(lines), LINES_PER_CALL):
            if cancelled():
                return
            painter.drawLines(lines[first : first + LINES_PER_CALL])
