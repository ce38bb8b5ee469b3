"""The tokens that the model reads, as a strip to select, mask and hover."""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QWidget

from app.pages.explore.state import ExploreState
from app.resources import mono_font
from app.theme import SEGMENTS, SPACE, Role, colour, is_theme_change, px
from app.widgets.keys import is_press
from app.widgets.text.chips import (
    AS_STORED,
    ROW_GAP,
    chip_widths,
    continues_word,
    flow_chips,
    token_text,
)
from engine.messages.explore.text import Token

MAX_ROWS = 3  # visible rows before the strip scrolls
RADIUS = 5.0


class Strip(QWidget):
    """Paints the tokens of one side.

    A click selects a token, Ctrl+click makes it the target. A double click masks or unmasks its
    word, with Shift only the token. Arrow keys move the selection, with Ctrl the target; Enter or
    Space masks.

    Signals:
        moved: index of the token to scroll to.
    """

    moved = Signal(int)

    def __init__(self, explore: ExploreState, side: int = 0) -> None:
        super().__init__()
        self._explore, self._side = explore, explore.both[side]
        self.boxes: list[QRectF] = []  # of each token
        self._laid_out_tokens: tuple[Token, ...] | None = None
        self._widths: list[float] = []
        self._joins: list[bool] = []  # True if a token continues the previous word
        self._layouts: dict[int, list[QRectF]] = {}  # boxes by width
        self._colors: dict[tuple[Role, float], QColor] = {}  # while painting
        self._marks: tuple[int, ...] = (-1, -1, -1)  # picked, target and hovered token of this side
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Tokens of the second side") if side else self.tr("Tokens"))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        explore.tokens_changed.connect(self._on_tokens)
        explore.picked_changed.connect(self._on_picked)
        explore.target_changed.connect(lambda _: self._update_marks())
        explore.hovered_changed.connect(lambda _: self._update_marks())
        self._on_tokens()

    @property
    def _picked(self) -> int:
        return self._explore.on_side(self._side.index, self._explore.picked)

    def _pick(self, index: int) -> None:
        self._explore.pick(self._explore.from_side(self._side.index, index))

    # ── size ─────────────────────────────────────────────────────────────────────────────────

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        boxes = self._chip_boxes(width)
        return round(boxes[-1].bottom()) + 6 if boxes else self.row_height()

    def sizeHint(self) -> QSize:
        width = max(self.width(), 80 * SPACE)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(40 * SPACE), self.row_height())

    def row_height(self) -> int:
        return round(QFontMetricsF(mono_font()).height() + 2 * SPACE + ROW_GAP)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.boxes = self._chip_boxes(self.width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange or is_theme_change(event):
            self._lay_out()

    def _chip_boxes(self, width: int) -> list[QRectF]:
        """Boxes of all tokens, cached by width: Qt asks for the height repeatedly."""
        if width not in self._layouts:
            metrics = QFontMetricsF(mono_font())
            self._layouts[width] = flow_chips(self._side.tokens, metrics, width - 2, self._widths)
        return self._layouts[width]

    def _lay_out(self) -> None:
        tokens = self._side.tokens
        self._widths = chip_widths(tokens, QFontMetricsF(mono_font()))
        self._joins = [continues_word(tokens, index) for index in range(len(tokens))]
        self._layouts = {}
        self.boxes = self._chip_boxes(self.width())
        self.updateGeometry()
        self.update()

    # ── updates ──────────────────────────────────────────────────────────────────────────────

    def _on_tokens(self) -> None:
        if self._side.tokens is self._laid_out_tokens:
            self.update()  # a word was masked or unmasked
        else:
            self._laid_out_tokens = self._side.tokens
            self._lay_out()
        self._update_marks()
        self._describe()

    def _on_picked(self, index: int) -> None:
        self._describe()
        self._update_marks()
        if 0 <= self._picked < len(self.boxes):
            self.moved.emit(self._picked)

    def _update_marks(self) -> None:
        explore = self._explore
        marks = tuple(
            explore.on_side(self._side.index, index)
            for index in (explore.picked, explore.target, explore.hovered)
        )
        for before, now in zip(self._marks, marks, strict=True):
            if before == now:
                continue
            for index in (before, now):
                if 0 <= index < len(self.boxes):
                    box = self.boxes[index].adjusted(-3, -3, 3, 3)
                    self.update(box.toAlignedRect())
        self._marks = marks

    def _describe(self) -> None:
        """Describe the selected token, else the whole text, to screen readers."""
        side, picked = self._side, self._picked
        if 0 <= picked < len(side.tokens):
            text = self.tr("Token {0} of {1}: {2}").format(
                picked + 1, len(side.tokens), token_text(side.tokens[picked].text)
            )
            if side.is_masked(picked):
                text = self.tr("{0}, masked").format(text)
        else:
            text = " ".join(token_text(token.text) for token in side.tokens)
        self.setAccessibleDescription(text)

    # ── mouse and keys ───────────────────────────────────────────────────────────────────────

    def token_at(self, point: QPointF) -> int:
        """Index of the token at a point, or -1."""
        for index, box in enumerate(self.boxes):
            if box.adjusted(-1, -SPACE, 1, SPACE).contains(point):
                return index
        return -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        hovered = self.token_at(event.position())
        pressable = 0 <= hovered < len(self._side.tokens) and not self._side.tokens[hovered].special
        shape = Qt.CursorShape.PointingHandCursor if pressable else Qt.CursorShape.ArrowCursor
        self.setCursor(shape)
        self._explore.hover(self._explore.from_side(self._side.index, hovered))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._explore.hover(-1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        index = self.token_at(event.position())
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._explore.pick_target(self._explore.from_side(self._side.index, index))
        else:
            self._pick(index)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._toggle(self.token_at(event.position()), event)

    def _toggle(self, index: int, event: QMouseEvent | QKeyEvent) -> None:
        only_token = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._explore.toggle_mask(self._explore.from_side(self._side.index, index), only_token)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_press(event):
            self._toggle(self._picked, event)
            return
        moves_target = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        target = self._explore.on_side(self._side.index, self._explore.target)
        index = self._next_index(event.key(), target if moves_target else self._picked)
        if index < 0:
            super().keyPressEvent(event)
        elif moves_target:
            self._explore.pick_target(self._explore.from_side(self._side.index, index))
        else:
            self._pick(index)

    def _next_index(self, key: int, index: int) -> int:
        last = len(self.boxes) - 1
        if last < 0:
            return -1
        match key:
            case Qt.Key.Key_Left:
                return max(0, index - 1)
            case Qt.Key.Key_Right:
                return min(last, index + 1)
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                return self._vertical_neighbour(index, key == Qt.Key.Key_Down)
            case Qt.Key.Key_Home:
                return 0
            case Qt.Key.Key_End:
                return last
        return -1

    def _vertical_neighbour(self, index: int, below: bool) -> int:
        """The nearest token in the row above or below; the same if there is none."""
        if index < 0:
            return 0
        current = self.boxes[index]
        rows = {box.top() for box in self.boxes}
        tops = [t for t in rows if (t > current.top() if below else t < current.top())]
        if not tops:
            return index
        top = min(tops) if below else max(tops)
        row = [n for n, box in enumerate(self.boxes) if box.top() == top]
        return min(row, key=lambda n: abs(self.boxes[n].center().x() - current.center().x()))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        by_tab = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        if event.reason() in by_tab and self._picked < 0 and len(self.boxes) > 1:
            self._pick(1)

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._colors.clear()
        plain, struck = mono_font(), mono_font()
        struck.setStrikeOut(True)
        side = self._side
        masked, mask_tokens, unknown = set(side.masked), set(side.all_masked), set(side.unknown)
        is_pair = side.pair is not None
        visible = QRectF(event.rect()).adjusted(0, -6, 0, 6)
        for index, box in enumerate(self.boxes[: len(side.tokens)]):
            if not box.intersects(visible):
                continue
            painter.setFont(struck if index in masked else plain)
            self._paint(painter, index, box, index in mask_tokens, index in unknown)
            if is_pair:
                self._paint_underline(painter, side.tokens[index].segment, box)

    def _paint(
        self, painter: QPainter, index: int, box: QRectF, is_mask: bool, is_unknown: bool
    ) -> None:
        picked, target, hovered = self._marks
        token = self._side.tokens[index]
        tint = SEGMENTS[token.segment % len(SEGMENTS)]
        role = Role.MUTED if token.special else Role.WARN if is_unknown else tint
        opacity = (0.06 if token.special else 0.14) + 0.12 * (index == hovered)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._color(Role.ACCENT) if is_mask else self._color(role, opacity))
        self._fill(painter, index, box)
        if self._joins[index]:
            painter.setPen(QPen(self._color(Role.SURFACE if is_mask else role, 0.5), 1))
            x = box.left()
            painter.drawLine(QPointF(x, box.top() + 4), QPointF(x, box.bottom() - 4))
        text = Role.ON_ACCENT if is_mask else Role.MUTED if token.special else Role.TEXT
        painter.setPen(self._color(text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter | AS_STORED, token_text(token.text))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if index == target:
            painter.setPen(QPen(self._color(Role.TEXT), 1.5, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        if index == picked:
            painter.setPen(QPen(self._color(Role.TEXT if self.hasFocus() else tint), 2))
            painter.drawRoundedRect(box, RADIUS, RADIUS)

    def _color(self, role: Role, opacity: float = 1.0) -> QColor:
        key = role, opacity
        if key not in self._colors:
            self._colors[key] = colour(role, opacity)
        return self._colors[key]

    def _paint_underline(self, painter: QPainter, segment: int, box: QRectF) -> None:
        """Paint one line below the first text, two below the second: colour is not the only cue."""
        painter.setPen(QPen(self._color(SEGMENTS[segment % len(SEGMENTS)]), 1.5))
        for line in range(1 + segment % len(SEGMENTS)):
            y = box.bottom() + 2 + 2.5 * line
            painter.drawLine(QPointF(box.left() + 1, y), QPointF(box.right() - 1, y))

    def _fill(self, painter: QPainter, index: int, box: QRectF) -> None:
        """Paint a box with round ends at the beginning and end of its word."""
        is_first = not self._joins[index]
        is_last = index + 1 == len(self._joins) or not self._joins[index + 1]
        if is_first and is_last:
            painter.drawRoundedRect(box, RADIUS, RADIUS)  # much faster than a path
            return
        path = QPainterPath()
        path.setFillRule(Qt.FillRule.WindingFill)
        path.addRoundedRect(box, RADIUS, RADIUS)
        if not is_first:
            path.addRect(QRectF(box.left(), box.top(), RADIUS, box.height()))
        if not is_last:
            path.addRect(QRectF(box.right() - RADIUS, box.top(), RADIUS, box.height()))
        painter.drawPath(path.simplified())


class StripArea(QScrollArea):
    """Scrolls a strip that has more rows than fit, at most MAX_ROWS."""

    def __init__(self, explore: ExploreState, side: int = 0) -> None:
        super().__init__()
        self.strip = Strip(explore, side)
        self._max_rows = MAX_ROWS
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.viewport().setAutoFillBackground(False)
        self.strip.setProperty("bare", True)
        self.setWidget(self.strip)
        self.strip.moved.connect(self._show)
        explore.tokens_changed.connect(self._fit)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def set_max_rows(self, rows: int) -> None:
        if rows != self._max_rows:
            self._max_rows = rows
            self._fit()

    def _fit(self) -> None:
        max_height = self._max_rows * self.strip.row_height()
        needed = self.strip.heightForWidth(self.viewport().width())
        self.setFixedHeight(min(max_height, needed) + 2)

    def _show(self, index: int) -> None:
        box = self.strip.boxes[index]
        center = box.center().toPoint()
        self.ensureVisible(center.x(), center.y(), 0, round(box.height()))
