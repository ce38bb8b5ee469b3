"""Chosen heads as lines from query tokens at the left to key tokens at the right.

Thousands of lines take too long for the GUI thread. A base picture of the visible part and its
surroundings is drawn in the background; only the lines of the token under the mouse are painted
over it.

Shapes: S tokens that are shown.
"""

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
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
from app.pages.explore.panels.attention import description
from app.pages.explore.panels.attention.drawing import (
    FAINTEST,
    MAX_LINES_OF_TOKEN,
    THICK_LINES,
    draw,
    head_role,
    name_font,
    of_token,
    paint_links,
)
from app.pages.explore.panels.attention.links import Links, are_drawn_alike
from app.pages.explore.panels.attention.state import AttentionState
from app.resources import mono_font
from app.theme import PICKED, SPACE, Role, colour, is_dark, repaints
from app.timers import debounced
from app.widgets.keys import clamp, horizontal_step, is_press, vertical_step
from app.widgets.text.chips import AS_STORED
from app.widgets.text.labels import font

FADED = 0.12  # opacity of all lines while those of a token are highlighted
REST = 100  # ms after the last change of the threshold
COLUMN = 0.3  # largest fraction of the width for a column of tokens


class Lines(QWidget):
    """Paints the links of the chosen heads, for a vertical scroll area."""

    def __init__(self, state: AttentionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._base: QImage | None = None
        self._place = QPoint()  # of the base picture
        self._top = self._bottom = 0  # y range in px of the base picture
        self._drawing: background.Job | None = None
        self._smoothing = debounced(self, REST, self._draw_base)
        self._shown: tuple[tuple[np.ndarray, ...], tuple[Links, ...]] = ((), ())  # maps, links
        self._aligned = 0.0  # row height in px of the matrix
        self._widest: float | None = None  # px of the widest token, cached
        self._named: tuple[str, ...] = ()  # names that it was measured for
        self._names: tuple[object, QPixmap] | None = None  # picture of the names, and its key
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)
        self.setAccessibleName(self.tr("Attention head as lines"))
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(self._on_links)
        state.pointed_changed.connect(self.update)

    @property
    def is_still(self) -> bool:
        """True if nothing is being drawn."""
        return self._drawing is None and not self._smoothing.isActive()

    # ── places ───────────────────────────────────────────────────────────────────────────────

    def align(self, height: float) -> None:
        """Use the row height of the matrix; 0 if it shows no tokens."""
        if height != self._aligned:
            self._aligned, self._widest, self._names = height, None, None
            self.updateGeometry()
            self._draw_base()

    def row_height(self) -> float:
        """The matrix's height, or a readable one."""
        return self._aligned or float(QFontMetricsF(mono_font()).height())

    def sizeHint(self) -> QSize:
        high = self.row_height() * max(1, len(self._state.tokens))
        return QSize(90 * SPACE, round(high))

    def minimumSizeHint(self) -> QSize:
        return QSize(50 * SPACE, self.sizeHint().height())

    def ends(self) -> tuple[float, float]:
        """x at which lines start and end."""
        if self._widest is None:
            metrics = QFontMetricsF(name_font(self.row_height()))
            texts = set(self._state.names)
            self._widest = max((metrics.horizontalAdvance(text) for text in texts), default=0.0)
        column = min(self._widest + 3 * SPACE, self.width() * COLUMN)
        return column, self.width() - column

    def row_at(self, y: float) -> int:
        row = int(y // self.row_height())
        return row if 0 <= row < len(self._state.tokens) else -1

    # ── what changes ─────────────────────────────────────────────────────────────────────────

    def _on_head(self) -> None:
        if self._named is not self._state.names:
            self._named, self._widest = self._state.names, None
            self.updateGeometry()
        self.update()

    def _on_links(self) -> None:
        """Redraw if the lines differ; another threshold often changes none, as their number is
        limited."""
        self.setAccessibleDescription(description.describe_head(self._state))
        before, self._shown = self._shown, (self._state.shown, self._state.drawn)
        if before[0] is not self._shown[0]:
            self._draw_base()
        elif not are_drawn_alike(before[1], self._shown[1]):
            self._draw_roughly()
            self._smoothing.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._draw_base()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if repaints(event) or event.type() == QEvent.Type.FontChange:
            self._widest, self._names = None, None
            self._draw_base()
            self.update()

    def _draw_roughly(self) -> None:
        """Draw the strongest visible links at once while the threshold is dragged.

        All of them, antialiased, take longer than a frame and follow when the slider rests.
        """
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        seen = self._between() & self.visibleRegion().boundingRect()
        if seen.isEmpty():
            return
        state, ratio = self._state, self.devicePixelRatioF()
        self._place = seen.topLeft()
        few = THICK_LINES // max(1, len(state.drawn))
        self._base = draw(
            [links.first(few) for links in state.drawn],
            seen.size(),
            seen.top(),
            self.row_height(),
            ratio,
            self._inks(),
            state.maps.largest,
            is_smooth=False,
        )
        self.update()

    def _between(self) -> QRect:
        """Area between the two columns of tokens."""
        left, right = self.ends()
        return QRect(round(left), 0, round(right - left), self.height())

    def _draw_base(self) -> None:
        """Draw all links in the background; the old picture stays until then."""
        self._smoothing.stop()
        if self._drawing is not None:
            self._drawing.cancel()
        seen = self.visibleRegion().boundingRect()
        around = self._between() & seen.adjusted(0, -seen.height(), 0, seen.height())
        self._top, self._bottom = around.top(), around.bottom()
        if not self._state.tokens or around.isEmpty():
            self._base = None
            self.update()
            return
        drawn, height, inks = self._state.drawn, self.row_height(), self._inks()
        place, ratio, most = around.topLeft(), self.devicePixelRatioF(), self._state.maps.largest

        def work(progress: background.Progress) -> tuple[QImage, QPoint]:
            cancelled = progress.cancelled
            size, top = around.size(), place.y()
            return draw(drawn, size, top, height, ratio, inks, most, cancelled=cancelled), place

        self._drawing = background.run(
            self, work, self._on_drawn, progress=lambda _done, _total: None
        )

    def _on_drawn(self, drawn: tuple[QImage, QPoint]) -> None:
        self._drawing = None
        self._base, self._place = drawn
        self.update()

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def at(self, point: QPointF) -> tuple[int, int]:
        """Index of the query or the key token at a point; -1 for the other, or none."""
        left, right = self.ends()
        row = self.row_at(point.y())
        if point.x() <= left:
            return row, -1
        return (-1, row) if point.x() >= right else (-1, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._state.point(*self.at(event.position()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            row, column = self.at(event.position())
            self._state.pick_token(row)
            self._state.pick_target(column)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._state.point(-1, -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, column = self._state.pointed
        last, here = len(self._state.tokens) - 1, max(row, column)
        at_right = row < 0 <= column
        down, right = vertical_step(event), horizontal_step(event)
        if is_press(event):
            self._state.pick_token(row)
            self._state.pick_target(column)
        elif down and last >= 0:
            here = clamp(here + down, last)
            self._state.point(*((-1, here) if at_right else (here, -1)))
        elif right and here >= 0:
            self._state.point(*((-1, here) if right > 0 else (here, -1)))
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        state = self._state
        if not state.tokens:
            return
        seen = self.visibleRegion().boundingRect()
        if seen.top() < self._top or seen.bottom() > self._bottom:
            self._draw_base()  # scrolled beyond the picture
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left, right = self.ends()
        row, column = self._focus()
        stands_out = row >= 0 or column >= 0
        if self._base is not None:
            painter.setOpacity(FADED if stands_out else 1.0)
            painter.drawImage(self._place, self._base)
            painter.setOpacity(1.0)
        if stands_out:
            painter.translate(left, 0)
            for weights, ink in zip(state.shown, self._inks(), strict=True):
                most = MAX_LINES_OF_TOKEN // len(state.shown)
                links = of_token(weights, row, column, FAINTEST * state.maps.largest, most)
                paint_links(
                    painter, links, right - left, self.row_height(), ink, state.maps.largest
                )
            painter.translate(-left, 0)
        self._paint_tokens(painter, QRectF(event.rect()), row, column)

    def _inks(self) -> list[QColor]:
        """A colour for each chosen head, fainter the more there are."""
        count = len(self._state.heads)
        return [colour(head_role(n, count), count**-0.5) for n in range(count)]

    def _focus(self) -> tuple[int, int]:
        """Token to highlight: the one under the mouse, else the selected one."""
        row, column = self._state.pointed
        if row < 0 and column < 0:
            return self._state.picked, -1
        return (row, -1) if row >= 0 else (-1, column)

    def _paint_tokens(self, painter: QPainter, seen: QRectF, row: int, column: int) -> None:
        """Paint both columns; the background of a token shows its part in what is highlighted."""
        state, height, most = self._state, self.row_height(), self._state.maps.largest
        left, right = self.ends()
        looked = state.map[row] if row >= 0 else None
        looking = state.map[:, column] if column >= 0 else None
        first = max(0, int(seen.top() // height))
        last = min(len(state.tokens), int(seen.bottom() // height) + 1)
        painter.setPen(Qt.PenStyle.NoPen)
        for number in range(first, last):
            tint = looking[number] / most if looking is not None else float(number == row)
            self._tint(painter, self._box(number, True), float(tint))
            tint = looked[number] / most if looked is not None else float(number == column)
            self._tint(painter, self._box(number, False), float(tint))
        look = (height, left, right, self.devicePixelRatioF(), is_dark())
        key = (self._named, first, last, look)
        if self._names is None or self._names[0] != key:
            self._names = key, self._draw_names(first, last)
        painter.drawPixmap(QPointF(0, first * height), self._names[1])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(PICKED), 1.5))
        for chosen, at_left in ((state.picked, True), (state.target, False)):
            if first <= chosen < last:
                painter.drawRoundedRect(_inside(self._box(chosen, at_left)), 3, 3)

    def _box(self, number: int, at_left: bool) -> QRectF:
        """Box of a token's name, in the left or the right column."""
        height, (left, right) = self.row_height(), self.ends()
        if at_left:
            return QRectF(0, number * height, left, height)
        return QRectF(right, number * height, self.width() - right, height)

    def _tint(self, painter: QPainter, box: QRectF, tint: float) -> None:
        if tint > FAINTEST:
            painter.setBrush(colour(Role.ACCENT, 0.08 + 0.4 * min(1.0, tint)))
            painter.drawRoundedRect(_inside(box), 3, 3)

    def _draw_names(self, first: int, last: int) -> QPixmap:
        """Draw the names of both columns, which are the same for every head."""
        ratio, height = self.devicePixelRatioF(), self.row_height()
        made = QPixmap(QSizeF(self.width() * ratio, (last - first) * height * ratio).toSize())
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        painter.translate(0, -first * height)
        painter.setFont(name_font(self.row_height()))
        masked, tokens = set(self._state.masked), self._state.tokens
        accent, muted, plain = colour(Role.ACCENT), colour(Role.MUTED), colour(Role.TEXT)
        for number in range(first, last):
            pen = muted if tokens[number].special else plain
            painter.setPen(accent if number in masked else pen)
            for at_left in (True, False):
                self._write(painter, self._named[number], self._box(number, at_left), at_left)
        painter.end()
        return made

    def _write(self, painter: QPainter, text: str, box: QRectF, at_left: bool) -> None:
        shown = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, round(box.width() - 2 * SPACE)
        )
        align = Qt.AlignmentFlag.AlignRight if at_left else Qt.AlignmentFlag.AlignLeft
        inner = (SPACE, -1.5 * SPACE) if at_left else (1.5 * SPACE, 0)
        words = box.adjusted(inner[0], 0, inner[1], 0)
        painter.drawText(words, align | Qt.AlignmentFlag.AlignVCenter | AS_STORED, shown)


def _inside(box: QRectF) -> QRectF:
    return box.adjusted(1, 0.5, -1, -0.5)


class AxisTitles(QWidget):
    """Titles of both columns, as high as the matrix's."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(font("small"))
        painter.setPen(colour(Role.MUTED))
        left, right = self._lines.ends()
        middle = (left + right) / 2
        high = float(self.height() - 1)
        bottom = Qt.AlignmentFlag.AlignBottom
        start = QRectF(SPACE, 0, middle - 2 * SPACE, high)
        painter.drawText(start, bottom | Qt.AlignmentFlag.AlignLeft, self.tr("Query tokens"))
        end = QRectF(middle, 0, self._lines.width() - middle - SPACE, high)
        painter.drawText(end, bottom | Qt.AlignmentFlag.AlignRight, self.tr("Key tokens"))
