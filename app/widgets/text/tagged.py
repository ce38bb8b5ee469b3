"""Tags in colour: spans over the words of a row, and spans alone in the cell of a table."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, count
from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import CHART, SPACE, Role, colour
from app.widgets.drawing import FlowWidget, fill, flow, write
from app.widgets.tables import Index
from app.widgets.text.labels import font, one_line
from engine.data.columns.tags import Span, are_spans, spans_from_tags
from engine.data.columns.text_spans import TextSpan
from engine.messages.explore.text import Token

MAX_WORDS = 512
MAX_CHIPS = 20  # in a cell
GAP = 1.5 * SPACE  # px between words
TINT = 0.22  # opacity of a span
CHIPS = Qt.ItemDataRole.UserRole + 20  # of a cell: tuple of Chip

CENTRE = Qt.AlignmentFlag.AlignCenter


class Chip(NamedTuple):
    """A span in a cell: its words, its type, and the index of its colour."""

    text: str
    type: str
    color: int


def word_spans(tags: Sequence[str]) -> list[Span]:
    """The spans of tags; every tagged word is one if the tags are classes of words."""
    if are_spans(tags) or set(tags) == {"O"}:
        return spans_from_tags(tags)
    return [Span(tag, n, n + 1) for n, tag in enumerate(tags)]


def token_spans(
    words: Sequence[str], tags: Sequence[str], tokens: Sequence[Token]
) -> tuple[Span, ...]:
    """The spans of tags over the tokens of their words, joined by blanks."""
    ends = list(accumulate(len(word) + 1 for word in words))  # of each word and its blank
    owners = [-1 if token.special else bisect_right(ends, token.start) for token in tokens]
    spans = []
    for span in word_spans(tags):
        inside = [n for n, word in enumerate(owners) if span.start <= word < span.end]
        if inside:
            spans.append(Span(span.type, inside[0], inside[-1] + 1))
    return tuple(spans)


def tag_types(labels: Sequence[str]) -> list[str]:
    """The types of spans that these tags name, or the tags themselves, in the order of colours."""
    names = [tag[2:] for tag in labels] if are_spans(labels) else labels
    return list(dict.fromkeys(filter(None, names)))


def chips(words: Sequence[str], spans: Sequence[Span], types: Sequence[str]) -> tuple[Chip, ...]:
    """The spans of a row as chips."""
    return tuple(
        Chip(" ".join(words[span.start : span.end]), span.type, _color_index(span.type, types))
        for span in spans[:MAX_CHIPS]
    )


def text_chips(text: str, spans: Sequence[TextSpan], types: Sequence[str]) -> tuple[Chip, ...]:
    """Spans of the characters of a text as chips."""
    return tuple(
        Chip(text[span.start : span.end], span.label, _color_index(span.label, types))
        for span in spans[:MAX_CHIPS]
    )


def _color_index(type_: str, types: Sequence[str]) -> int:
    return types.index(type_) % len(CHART) if type_ in types else 0


class TaggedWords(FlowWidget):
    """Words in lines with the names of their spans: true ones above, predicted ones below."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.words: tuple[str, ...] = ()
        self.above: tuple[Span, ...] = ()
        self.below: tuple[Span, ...] = ()
        self._types: tuple[str, ...] = ()

    def show_words(
        self,
        words: Sequence[str],
        above: Sequence[Span],
        below: Sequence[Span],
        types: Sequence[str],
    ) -> None:
        """Show words with true and predicted spans; the index in `types` gives the colour."""
        self.words = tuple(map(one_line, words[:MAX_WORDS]))
        self.above, self.below = (
            tuple(span for span in side if span.end <= len(self.words)) for side in (above, below)
        )
        self._types = tuple(types)
        self.setAccessibleDescription(
            "; ".join(
                self.tr("{0}: {1}").format(title, self._sentence(side))
                for title, side in (
                    (self.tr("true label"), self.above),
                    (self.tr("predicted"), self.below),
                )
                if side
            )
        )
        self.updateGeometry()
        self.update()

    def _sentence(self, spans: Sequence[Span]) -> str:
        return ", ".join(
            f"{chip.text} {chip.type}" for chip in chips(self.words, spans, self._types)
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes, small = self.boxes_at(self.width()), QFontMetricsF(font("small")).height()
        above, below = self._rows
        for spans, is_above in ((self.above, True), (self.below, False)):
            for span, level in zip(spans, _levels(spans), strict=True):
                for band in span_lines(boxes[span.start : span.end]):
                    middle = (band.top() + band.bottom() + small * (above - below)) / 2
                    if is_above:
                        band.setTop(band.top() + small * (above - 1 - level))
                        band.setBottom(middle)
                    else:
                        band.setBottom(band.bottom() - small * (below - 1 - level))
                        band.setTop(middle)
                    self._paint_span(painter, span.type, band, small, is_above)
        for word, box in zip(self.words, boxes, strict=True):
            inner = box.adjusted(0, small * above, 0, -small * below)
            write(painter, inner, word, self.font(), Role.TEXT, CENTRE)

    @property
    def _rows(self) -> tuple[int, int]:
        """Rows of names above and below the words."""
        above, below = (max(_levels(side), default=0) + 1 for side in (self.above, self.below))
        return above, below

    def _paint_span(
        self, painter: QPainter, type_: str, band: QRectF, small: float, is_above: bool
    ) -> None:
        """Paint the name of a span in a band that reaches half over its words."""
        color, label = span_color(type_, self._types), QRectF(band)
        label.setHeight(small)
        if not is_above:
            label.moveBottom(band.bottom())
        color.setAlphaF(TINT)
        fill(painter, band, color, 4)
        write(painter, label, type_, font("small"), Role.TEXT, CENTRE)

    def boxes_at(self, width: int) -> list[QRectF]:
        """A box for each word, with room for names above and below, in lines."""
        words, names = QFontMetricsF(self.font()), QFontMetricsF(font("small"))
        widths = [words.horizontalAdvance(word) + 2 for word in self.words]
        for span in (*self.above, *self.below):
            inside = sum(widths[span.start : span.end]) + GAP * (span.end - span.start - 1)
            missing = names.horizontalAdvance(span.type) + SPACE - inside
            if missing > 0:
                widths[span.start] += missing
        height = words.height() + sum(self._rows) * names.height() + SPACE
        clipped = (min(word, float(width)) for word in widths)
        return flow(clipped, height, width, GAP, SPACE)


def _levels(spans: Sequence[Span]) -> list[int]:
    """The row of names of each span, from 0 next to the words: spans that overlap have different
    ones, shorter spans lower ones."""
    levels: dict[int, int] = {}
    for index in sorted(range(len(spans)), key=lambda n: spans[n].end - spans[n].start):
        span = spans[index]
        taken = {
            level
            for other, level in levels.items()
            if spans[other].start < span.end and span.start < spans[other].end
        }
        levels[index] = next(n for n in count() if n not in taken)
    return [levels[index] for index in range(len(spans))]


def span_color(type_: str, types: Sequence[str]) -> QColor:
    """The colour of a type by its index."""
    return colour(CHART[_color_index(type_, types)])


def span_lines(boxes: Sequence[QRectF]) -> list[QRectF]:
    """The part of a span in each line of words."""
    parts: list[QRectF] = []
    for box in boxes:
        if parts and parts[-1].top() == box.top():
            parts[-1] = parts[-1].united(box)
        else:
            parts.append(QRectF(box))
    return parts


class ChipDelegate(QStyledItemDelegate):
    """Paints the spans of a cell, from the role CHIPS, “–” for none; other cells as usual."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        shown = index.data(CHIPS)
        if shown is None:
            super().paint(painter, option, index)
            return
        cell = QStyleOptionViewItem(option)
        self.initStyleOption(cell, index)
        cell.text = ""
        style = cell.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, cell, painter, cell.widget)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(option.rect)
        metrics, names = QFontMetricsF(option.font), QFontMetricsF(font("small"))
        box = QRectF(option.rect).adjusted(2 * SPACE, SPACE, -SPACE, -SPACE)
        if not shown:
            write(painter, box, "–", option.font, Role.MUTED)
        for chip in shown:
            text = one_line(chip.text, 80)
            width = metrics.horizontalAdvance(text) + names.horizontalAdvance(chip.type)
            fill(
                painter,
                QRectF(box.left(), box.top(), width + 3 * SPACE, box.height()),
                colour(CHART[chip.color], TINT),
                4,
            )
            box.setLeft(box.left() + SPACE)
            box.setLeft(box.left() + write(painter, _open(box), text, option.font, Role.TEXT))
            box.setLeft(box.left() + SPACE)
            write(painter, _open(box), chip.type, font("small"), Role.MUTED)
            box.setLeft(box.left() + names.horizontalAdvance(chip.type) + 2 * SPACE)
            if box.left() > option.rect.right():
                break
        painter.restore()


def _open(box: QRectF) -> QRectF:
    """The box to the right without an end, so that nothing is elided twice."""
    return QRectF(box.left(), box.top(), 4_000, box.height())
