"""Words of a row with their tags; a key sets the tag of the selected words."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import CHART, SPACE, Role, colour
from app.widgets.keys import horizontal_step
from app.widgets.text.chips import token_text
from app.widgets.text.labels import font

MAX_WORDS = 512
PADDING = 1.5 * SPACE


class TagView(QWidget):
    """Words in lines, each with its tag below.

    Drag or Shift+arrow selects adjacent words; arrows move, Home and End jump.

    Signals:
        selected: `selection` was set.
    """

    selected = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self._types: list[str] = []
        self._anchor = self._current = 0
        self._boxes: list[QRectF] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(self.tr("Words of the selected row"))

    def show_row(self, words: list[str], tags: list[str], types: tuple[str, ...]) -> None:
        """Show a row, or none; the selection stays if the words are the same."""
        words = words[:MAX_WORDS]
        if words != self.words:
            self._anchor = self._current = 0
        self.words, self.tags = words, tags[:MAX_WORDS]
        self._types = list(types)
        self._update_boxes(self.width())
        self.updateGeometry()
        self._update_description()

    @property
    def selection(self) -> tuple[int, int]:
        """First and last selected word, both included."""
        return min(self._anchor, self._current), max(self._anchor, self._current)

    def select(self, first: int, last: int) -> None:
        self._anchor = max(0, min(first, len(self.words) - 1))
        self._current = max(0, min(last, len(self.words) - 1))
        self._update_description()
        self.selected.emit()

    # ── keys and mouse ───────────────────────────────────────────────────────────────────────

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self.words) - 1
        step = horizontal_step(event)
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        target = self._current + step if step else ends.get(Qt.Key(event.key()))
        if target is None or not self.words:
            super().keyPressEvent(event)
            return
        is_extending = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.select(self._anchor if is_extending else target, target)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        word = self._word_at(event.position())
        if word is not None:
            is_extending = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.select(self._anchor if is_extending else word, word)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        word = self._word_at(event.position())
        if word is not None:
            self.select(self._anchor, word)

    def box(self, word: int) -> QRectF:
        """Rectangle of a word."""
        return self._boxes[word]

    def _word_at(self, point: QPointF) -> int | None:
        return next((n for n, box in enumerate(self._boxes) if box.contains(point)), None)

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, self.heightForWidth(max(self.width(), 80 * SPACE)))

    def heightForWidth(self, width: int) -> int:
        boxes = self._layout_boxes(width)
        return round(boxes[-1].bottom() + SPACE) if boxes else 12 * SPACE

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_boxes(self.width())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        first, last = self.selection
        small = font("small")
        if not self.words:
            painter.setPen(colour(Role.MUTED))
            hint = self.tr("Select a row to tag its words.")
            painter.drawText(
                self.rect(), Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap, hint
            )
        for index, (box, word, tag) in enumerate(
            zip(self._boxes, self.words, self.tags, strict=False)
        ):
            if first <= index <= last:
                painter.setPen(QPen(colour(Role.ACCENT), 2 if self.hasFocus() else 1))
                painter.setBrush(colour(Role.ACCENT_SOFT))
                painter.drawRoundedRect(box, 4, 4)
            line = QRectF(box.left(), box.top(), box.width(), box.height() / 2)
            painter.setPen(colour(Role.TEXT))
            painter.setFont(self.font())
            painter.drawText(line, Qt.AlignmentFlag.AlignCenter, token_text(word))
            if tag == "O":
                continue
            tag_box = QRectF(box.left(), line.bottom(), box.width(), box.height() / 2 - 2)
            painter.setPen(QPen(self._tag_colour(tag), 2))
            painter.drawLine(tag_box.topLeft(), tag_box.topRight())
            painter.setFont(small)
            painter.setPen(self._tag_colour(tag))
            painter.drawText(tag_box, Qt.AlignmentFlag.AlignCenter, token_text(tag))

    def _tag_colour(self, tag: str) -> QColor:
        name = tag[2:] if tag[1:2] == "-" else tag
        index = self._types.index(name) if name in self._types else 0
        return colour(CHART[index % len(CHART)])

    def _update_boxes(self, width: int) -> None:
        self._boxes = self._layout_boxes(width)
        self.update()

    def _layout_boxes(self, width: int) -> list[QRectF]:
        """Rectangle of each word, in lines of at most `width`."""
        metrics, small_metrics = QFontMetricsF(self.font()), QFontMetricsF(font("small"))
        height = metrics.height() + small_metrics.height() + 2 * SPACE
        boxes: list[QRectF] = []
        x, y = 1.0, 1.0
        for word, tag in zip(self.words, self.tags, strict=False):
            texts = (
                metrics.horizontalAdvance(token_text(word)),
                small_metrics.horizontalAdvance(token_text(tag)),
            )
            word_width = max(texts) + 2 * PADDING
            if x > 1 and x + word_width > width:
                x, y = 1.0, y + height + SPACE
            boxes.append(QRectF(x, y, word_width, height))
            x += word_width + SPACE
        return boxes

    def _update_description(self) -> None:
        first, last = self.selection
        pairs = zip(self.words[first : last + 1], self.tags[first : last + 1], strict=False)
        self.setAccessibleDescription(", ".join(f"{word}: {tag}" for word, tag in pairs))
        self.update()
