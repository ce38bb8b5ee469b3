"""One head as a matrix: query tokens over key tokens.

Shapes: S tokens that are shown.
"""

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.pages.explore.panels.attention import pixels, readout
from app.pages.explore.panels.attention.state import AttentionState
from app.resources import mono_font
from app.theme import PICKED, SPACE, Role, colour, repaints
from app.widgets.chips import AS_STORED

READABLE = 13  # px of a cell from which the tokens are written beside it
BARE = (2 * SPACE, 2 * SPACE)  # the margins where no tokens are written
LARGEST = 34  # px of a cell
WIDEST = 28 * SPACE  # px for the tokens at the left
STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class Matrix(QWidget):
    """Paints the map of the picked head; a crosshair follows the mouse or the arrow keys."""

    def __init__(self, state: AttentionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._picture: QPixmap | None = None
        self._widest: float | None = None  # px of a token, kept until they or the font change
        self._named: tuple[str, ...] = ()  # whose it is
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Attention head as a matrix"))
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(lambda: self.setAccessibleDescription(readout.sentence(state)))
        state.pointed_changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(90 * SPACE, 90 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, 24 * SPACE)

    def field(self) -> QRect:
        """Where the map is painted: square, whole device pixels, below and beside the tokens."""
        count = len(self._state.tokens)
        left, top = self._margins()
        room = min(self.width() - left - 1, self.height() - top - 1)
        return QRect(left, top, *([max(0, min(room, count * LARGEST))] * 2))

    def cell(self, row: int, column: int) -> QRectF:
        """Where one weight is painted."""
        field, count = QRectF(self.field()), max(1, len(self._state.tokens))
        side = field.width() / count
        return QRectF(field.left() + column * side, field.top() + row * side, side, side)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if repaints(event) or event.type() == QEvent.Type.FontChange:
            self._picture, self._widest = None, None
            self.update()

    def _on_head(self) -> None:
        self._picture = None
        if self._named is not self._state.names:
            self._named, self._widest = self._state.names, None
        self.update()

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def at(self, point: QPoint) -> tuple[int, int]:
        """The row and column under a point; beside the map, on a token, one of them is -1."""
        field, count = self.field(), len(self._state.tokens)
        if not count or not field.width():
            return -1, -1
        column = (point.x() - field.left()) * count // field.width()
        row = (point.y() - field.top()) * count // field.height()
        if not (row < count and column < count) or (row < 0 and column < 0):
            return -1, -1
        return max(row, -1), max(column, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._state.point(*self.at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row, column = self.at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton:
            self._state.pick_token(row)
            self._state.pick_target(column)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._state.point(-1, -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step, last = STEPS.get(Qt.Key(event.key())), len(self._state.tokens) - 1
        row, column = self._state.pointed
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._state.pick_token(row)
            self._state.pick_target(column)
        elif step is None or last < 0:
            super().keyPressEvent(event)
        else:
            row, column = max(row, 0) + step[0], max(column, 0) + step[1]
            self._state.point(min(max(row, 0), last), min(max(column, 0), last))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

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
        self._paint_tokens(painter)
        self._paint_crosshair(painter, QRectF(field))

    def _draw(self, field: QRect) -> QPixmap:
        ratio = self.devicePixelRatioF()
        side = max(1, round(field.width() * ratio))
        levels = pixels.stretched(pixels.levels(self._state.map, self._state.maps.largest), side)
        made = QPixmap.fromImage(pixels.themed(levels))
        made.setDevicePixelRatio(ratio)
        return made

    def _paint_tokens(self, painter: QPainter) -> None:
        """Beside every row and above every column, where there is room for them."""
        state = self._state
        side = self.cell(0, 0).width()
        if side < READABLE or self._margins() == BARE:
            return
        font = mono_font()
        font.setPixelSize(min(round(side * 0.72), 13))
        painter.setFont(font)
        row, column = state.pointed
        for number, name in enumerate(state.names):
            self._write(painter, name, self.cell(number, 0), number == row, across=True)
            self._write(painter, name, self.cell(0, number), number == column, across=False)

    def _write(
        self, painter: QPainter, text: str, cell: QRectF, is_pointed: bool, across: bool
    ) -> None:
        left, top = self._margins()
        room = (left if across else top) - SPACE
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, round(room))
        painter.setPen(colour(Role.TEXT if is_pointed else Role.MUTED))
        middle = Qt.AlignmentFlag.AlignVCenter | AS_STORED
        if across:
            box = QRectF(0, cell.top(), left - SPACE, cell.height())
            painter.drawText(box, middle | Qt.AlignmentFlag.AlignRight, shown)
            return
        painter.save()
        painter.translate(QPointF(cell.left(), top - SPACE))
        painter.rotate(-90)
        box = QRectF(0, 0, top, cell.width())
        painter.drawText(box, middle | Qt.AlignmentFlag.AlignLeft, shown)
        painter.restore()

    def _paint_crosshair(self, painter: QPainter, field: QRectF) -> None:
        """The row and the column that are pointed at, and the row that is picked on the page."""
        row, column = self._state.pointed
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(PICKED), 1.5))
        if self._state.picked >= 0:
            picked = self.cell(self._state.picked, 0)
            picked.setWidth(field.width())
            painter.drawRect(picked)
        if self._state.target >= 0:
            target = self.cell(0, self._state.target)
            target.setHeight(field.height())
            painter.drawRect(target)
        painter.setPen(QPen(colour(Role.TEXT, 0.8), 1))
        if row >= 0:
            across = self.cell(row, 0)
            painter.drawRect(QRectF(field.left(), across.top(), field.width(), across.height()))
        if column >= 0:
            down = self.cell(0, column)
            painter.drawRect(QRectF(down.left(), field.top(), down.width(), field.height()))

    def _margins(self) -> tuple[int, int]:
        """Room for the tokens at the left and on top; little where they are too many to write."""
        tokens = self._state.tokens
        room = min(self.width(), self.height())
        if self._widest is None:
            metrics = QFontMetricsF(mono_font())
            texts = set(self._state.names)
            self._widest = max((metrics.horizontalAdvance(text) for text in texts), default=0.0)
        needed = min(round(self._widest) + 3 * SPACE, WIDEST)
        if not tokens or (room - needed) / len(tokens) < READABLE:
            return BARE
        return needed, needed
