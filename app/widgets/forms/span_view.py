"""A text with its spans, marked by mouse or keys; its owner sets their labels."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextLayout,
    QTextLine,
    QTextOption,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import CHART, SPACE, Role, colour
from app.widgets.drawing import fill, write
from app.widgets.keys import horizontal_step, vertical_step
from app.widgets.text.labels import font, one_line
from engine.data.columns.text_spans import TextSpan
from engine.data.columns.words import word_spans

LINE_BREAK = "\u2028"  # that a text layout follows
TINT, CHOSEN_TINT = 0.14, 0.3  # opacity of spans
BAR = 2  # px, of the line under a span
MARGIN = 1.0 * SPACE  # px around the text
Range = tuple[int, int]  # first character and the one behind the last


class Part(NamedTuple):
    """The part of a span in one line of the text, in px; `lane` counts from the text."""

    span: TextSpan
    left: float
    right: float
    lane: int
    has_name: bool


class Line(NamedTuple):
    """A line of the text with the spans under it."""

    line: QTextLine
    top: float
    parts: tuple[Part, ...]


class SpanView(QWidget):
    """A text over the lines and names of its spans, inner ones next to it.

    Dragging selects words, and single characters with Ctrl. A click on a span chooses it, another
    one the span around it. Arrows move by words, with Ctrl by characters; Shift extends the
    selection; Alt goes from span to span.

    Signals:
        selected: `selection` or `chosen` was set.
    """

    selected = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.spans: tuple[TextSpan, ...] = ()
        self.chosen: TextSpan | None = None  # a span that a label changes
        self._roles: Mapping[str, Role] = {}
        self._words: list[Range] = []
        self._anchor = self._head = (0, 0)  # the selection is from one to the other
        self._units: list[int] = []  # position of each character in UTF-16; empty: its index
        self._layout = QTextLayout()
        self._breaks: list[QTextLine] = []
        self._lines: list[Line] = []
        self._is_dragging = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(self.tr("Text of the selected row"))

    def show_text(self, text: str, spans: Sequence[TextSpan], roles: Mapping[str, Role]) -> None:
        """Show a text, “” for none; the selection stays if it is the same.

        Args:
            roles: colour of each label.
        """
        if text != self.text:
            self.text, self._words, self.spans = text, word_spans(text), ()
            self._anchor = self._head = self._words[0] if self._words else (0, 0)
            self.chosen = None
            is_long = any(ord(character) > 0xFFFF for character in text)
            sizes = (1 + (ord(character) > 0xFFFF) for character in text) if is_long else ()
            self._units = [0, *accumulate(sizes)] if is_long else []
            self._layout = QTextLayout(text.replace("\n", LINE_BREAK).replace("\r", " "))
            option = QTextOption()
            option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
            self._layout.setTextOption(option)
            self._break_lines(self.width())
        if (tuple(spans), roles) != (self.spans, self._roles):
            self.spans, self._roles = tuple(spans), roles
            self._place_lines()
        if self.chosen not in self.spans:
            self.chosen = None
        self.updateGeometry()
        self._update_description()

    @property
    def selection(self) -> Range:
        """The selected characters."""
        return min(self._anchor[0], self._head[0]), max(self._anchor[1], self._head[1])

    @property
    def target(self) -> TextSpan | None:
        """The chosen span, else the shortest one that has a selected character."""
        start, end = self.selection
        touched = (span for span in self.spans if span.start < end and start < span.end)
        shortest = min(touched, key=lambda span: span.end - span.start, default=None)
        return self.chosen or shortest

    def labelled(self, label: str) -> tuple[list[TextSpan], TextSpan | None]:
        """The spans after a label is given to the chosen one, or to the selected characters.

        The label that it has already removes it, and so does “”. Returns the labelled span, too.
        """
        old = self.chosen if label else self.target
        others = [span for span in self.spans if span != old]
        new = TextSpan(*self.selection, label)
        if not label or new == old or new in others or not self.text:
            return [span for span in others if span != new], None
        return [*others, new], new

    def select(self, start: int, end: int) -> None:
        """Select characters."""
        self._select((start, end), (start, end))

    def choose(self, span: TextSpan | None) -> None:
        """Choose a span, and select its characters."""
        if span is not None:
            self._select(span[:2], span[:2], span)

    def selection_box(self) -> QRectF:
        """The rectangle of the moving end of the selection."""
        boxes = self.boxes(*self._head)
        return boxes[-1] if boxes else QRectF()

    def boxes(self, start: int, end: int) -> list[QRectF]:
        """The rectangles of characters, one in each line of the text."""
        found = []
        for line in self._lines:
            ends = self._ends(line.line, start, end)
            if ends is not None:
                left, right = ends
                found.append(QRectF(left, line.top, right - left, line.line.height()))
        return found

    def name_box(self, span: TextSpan) -> QRectF:
        """The rectangle under the text that has the name of a span."""
        part, line = next(
            (part, line) for line in self._lines for part in line.parts if part.span == span
        )
        top = line.top + line.line.height() + part.lane * self._lane_height
        return QRectF(part.left, top, part.right - part.left, self._lane_height)

    def _select(self, anchor: Range, head: Range, chosen: TextSpan | None = None) -> None:
        self._anchor, self._head, self.chosen = anchor, head, chosen
        self._update_description()
        self.selected.emit()

    # ── keys ─────────────────────────────────────────────────────────────────────────────────

    def keyPressEvent(self, event: QKeyEvent) -> None:
        modifiers, step = event.modifiers(), horizontal_step(event)
        is_extending = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        if not self._words:
            super().keyPressEvent(event)
        elif step and modifiers & Qt.KeyboardModifier.AltModifier:
            self.choose(self._next_span(step))
        elif step and modifiers & Qt.KeyboardModifier.ControlModifier:
            self._move_character(step, is_extending)
        elif (head := self._key_target(event, step)) is not None:
            self._select(self._anchor if is_extending else head, head)
        else:
            super().keyPressEvent(event)

    def _key_target(self, event: QKeyEvent, step: int) -> Range | None:
        """The word that a key moves to; None for other keys."""
        if step:
            return self._word_from(self._head, step)
        match event.key():
            case Qt.Key.Key_Home:
                return self._words[0]
            case Qt.Key.Key_End:
                return self._words[-1]
        return self._word_below(step) if (step := vertical_step(event)) else None

    def _word_from(self, head: Range, step: int) -> Range:
        """The next word behind or before some characters; the last or first one at an end."""
        if step > 0:
            return next((word for word in self._words if word[0] >= head[1]), self._words[-1])
        return next((w for w in reversed(self._words) if w[1] <= head[0]), self._words[0])

    def _word_below(self, step: int) -> Range:
        """The word below or above the moving end of the selection."""
        box = self.selection_box()
        places = [n for n, line in enumerate(self._lines) if line.top == box.top()]
        place = min(max((places[0] if places else 0) + step, 0), len(self._lines) - 1)
        line = self._lines[place]
        return self._word_at(QPointF(box.center().x(), line.top + line.line.height() / 2))

    def _move_character(self, step: int, is_extending: bool) -> None:
        """Move a selection of one character, or the end of a longer one."""
        start, end = self.selection
        is_backward = self._head[0] < self._anchor[0]
        if not is_extending:
            first = start + step if end - start == 1 else start
            first = min(max(first, 0), len(self.text) - 1)
            self.select(first, first + 1)
        elif is_backward:
            first = min(max(start + step, 0), end - 1)
            self._select((end - 1, end), (first, first + 1))
        else:
            last = min(max(end + step, start + 1), len(self.text))
            self._select((start, start + 1), (last - 1, last))

    def _next_span(self, step: int) -> TextSpan | None:
        """The span after or before the chosen one, or the selection."""
        if self.chosen is not None:
            place = self.spans.index(self.chosen) + step
            return self.spans[place] if 0 <= place < len(self.spans) else self.chosen
        start, _ = self.selection
        if step > 0:
            return next((span for span in self.spans if span.start >= start), None)
        return next((span for span in reversed(self.spans) if span.start <= start), None)

    # ── mouse ────────────────────────────────────────────────────────────────────────────────

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position()
        named = self._span_of_lane(point)
        self._is_dragging = named is None
        if named is not None:
            self.choose(named)
        elif self._words and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._select(self._anchor, self._range_at(event))
        elif self._words:
            is_exact = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            place = self._range_at(event)
            self._select(place, place, None if is_exact else self._span_at(point))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        head = self._range_at(event)
        if self._words and self._is_dragging and head != self._head:
            self._select(self._anchor, head)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the characters of a span that was clicked."""
        self.choose(self.chosen)

    def _span_at(self, point: QPointF) -> TextSpan | None:
        """The innermost span at a point, or the one around it if that is chosen."""
        place = self._character_at(point)
        around = [span for span in self.spans if span.start <= place < span.end]
        around.sort(key=lambda span: span.end - span.start)
        if not around:
            return None
        before = around.index(self.chosen) if self.chosen in around else -1
        return around[(before + 1) % len(around)]

    def _span_of_lane(self, point: QPointF) -> TextSpan | None:
        """The span whose line or name is at a point."""
        for line in self._lines:
            for part in line.parts:
                top = line.top + line.line.height() + part.lane * self._lane_height
                box = QRectF(part.left, top, part.right - part.left, self._lane_height)
                if box.contains(point):
                    return part.span
        return None

    def _range_at(self, event: QMouseEvent) -> Range:
        """The word at the mouse, or with Ctrl the character."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            place = min(self._character_at(event.position()), max(len(self.text) - 1, 0))
            return place, place + 1
        return self._word_at(event.position())

    def _word_at(self, point: QPointF) -> Range:
        """The word at a point, or the nearest one before it."""
        place = bisect_right(self._words, (self._character_at(point), len(self.text)))
        return self._words[max(place - 1, 0)]

    def _character_at(self, point: QPointF) -> int:
        """Index of the character at a point, or nearest to it."""
        if not self._lines:
            return 0
        below = [line for line in self._lines if line.top <= point.y()]
        line = (below or self._lines[:1])[-1].line
        place = line.xToCursor(point.x(), QTextLine.CursorPosition.CursorOnCharacter)
        return self._index(int(place))

    # ── layout ───────────────────────────────────────────────────────────────────────────────

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, self.heightForWidth(max(self.width(), 80 * SPACE)))

    def heightForWidth(self, width: int) -> int:
        if width != self.width():
            self._break_lines(width)
        height = self._bottom()
        if width != self.width():
            self._break_lines(self.width())
        return round(height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._break_lines(self.width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._break_lines(self.width())

    def _bottom(self) -> float:
        if not self._lines:
            return 12.0 * SPACE
        last = self._lines[-1]
        return last.top + last.line.height() + self._lanes(last.parts) + MARGIN

    def _lanes(self, parts: Sequence[Part]) -> float:
        """Height of the lanes under a line."""
        return (1 + max((part.lane for part in parts), default=-1)) * self._lane_height

    @property
    def _lane_height(self) -> float:
        return QFontMetricsF(font("small")).height() + BAR + 1

    def _break_lines(self, width: int) -> None:
        """Break the text into lines of a width in px, and place them."""
        self._layout.setFont(self.font())
        self._breaks = []
        self._layout.beginLayout()
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(max(width - 2 * MARGIN, 1))
            line.setPosition(QPointF(MARGIN, 0))
            self._breaks.append(line)
        self._layout.endLayout()
        self._place_lines()

    def _place_lines(self) -> None:
        """Place the lines of the text with room for the spans under each."""
        starts, inside = [line.textStart() for line in self._breaks], defaultdict(list)
        for span in self.spans:
            first = bisect_right(starts, self._unit(span.start)) - 1
            for place in range(first, bisect_left(starts, self._unit(span.end))):
                inside[place].append(span)
        self._lines, top = [], MARGIN
        for place, line in enumerate(self._breaks):
            parts = self._parts(line, inside[place])
            self._lines.append(Line(line, top, parts))
            top += line.height() + self._lanes(parts) + SPACE
        self.update()

    def _parts(self, line: QTextLine, spans: Sequence[TextSpan]) -> tuple[Part, ...]:
        """The spans in a line, each in the first lane with room; short ones come first."""
        names, parts = QFontMetricsF(font("small")), list[Part]()
        for span in sorted(spans, key=lambda span: (span.end - span.start, span.start)):
            ends = self._ends(line, span.start, span.end)
            if ends is None:
                continue
            left, right = ends
            has_name = self._unit(span.start) >= line.textStart()
            if has_name:
                right = max(right, left + names.horizontalAdvance(one_line(span.label)) + SPACE)
            taken = {p.lane for p in parts if p.left < right + SPACE and left < p.right + SPACE}
            lane = next(n for n in range(len(parts) + 1) if n not in taken)
            parts.append(Part(span, left, right, lane, has_name))
        return tuple(parts)

    def _ends(self, line: QTextLine, start: int, end: int) -> tuple[float, float] | None:
        """Left and right of some characters in a line, in px; None if it has none of them."""
        first = max(self._unit(start), line.textStart())
        last = min(self._unit(end), line.textStart() + line.textLength())
        if first >= last:
            return None
        left, right = sorted(float(line.cursorToX(place)[0]) for place in (first, last))  # type: ignore[index]
        return left, right

    def _unit(self, index: int) -> int:
        return self._units[index] if self._units else index

    def _index(self, unit: int) -> int:
        return bisect_left(self._units, unit) if self._units else unit

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.text:
            painter.setPen(colour(Role.MUTED))
            hint = self.tr("Select a row to mark spans of its text.")
            flags = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect(), flags, hint)
            return
        for box in self.boxes(*self.selection):
            painter.setPen(QPen(colour(Role.ACCENT), 2 if self.hasFocus() else 1))
            painter.setBrush(colour(Role.ACCENT_SOFT))
            painter.drawRoundedRect(box.adjusted(-1, 0, 1, 0), 4, 4)
        seen = event.rect()
        for line in self._lines:
            bottom = line.top + line.line.height() + self._lanes(line.parts)
            if line.top > seen.bottom() or bottom < seen.top():
                continue
            for part in line.parts:
                self._paint_part(painter, line, part)
            painter.setPen(colour(Role.TEXT))
            line.line.draw(painter, QPointF(0, line.top))

    def _paint_part(self, painter: QPainter, line: Line, part: Part) -> None:
        role, is_chosen = self._roles.get(part.span.label, CHART[0]), part.span == self.chosen
        below = line.top + line.line.height()
        ends = self._ends(line.line, part.span.start, part.span.end)
        assert ends is not None  # the line has the part
        left, right = ends
        tint = colour(role, CHOSEN_TINT if is_chosen else TINT)
        fill(painter, QRectF(left, line.top, right - left, line.line.height()), tint, 3)
        top = round(below + part.lane * self._lane_height)
        fill(painter, QRectF(left, top, right - left, BAR), colour(role))
        if part.has_name:
            name = QRectF(part.left, top + BAR, part.right - part.left, self._lane_height - BAR)
            if is_chosen:
                fill(painter, name, tint, 3)
            write(painter, name, one_line(part.span.label), font("small"), Role.TEXT)

    def _update_description(self) -> None:
        start, end = self.selection
        texts = [self.text[start:end]]
        if self.chosen is not None:
            texts.append(self.chosen.label)
        else:
            inside = (span for span in self.spans if span.start < end and start < span.end)
            texts += [f"{self.text[span.start : span.end]}: {span.label}" for span in inside]
        self.setAccessibleDescription(", ".join(map(one_line, texts)))
        self.update()
