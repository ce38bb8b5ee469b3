"""Tokens in a row, as the model sees them.

Colour and the bars below a token show the segment: one line for the first text, two for the second.
Special tokens are framed, and [UNK] has the warning colour. Tokens that continue a word adjoin the
previous one. Spans have the colours of their types, with their names below. The height depends on
the width; at most `limit` tokens are painted.
"""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.resources import mono_font
from app.theme import SEGMENTS, SPACE, Role, colour, px
from app.widgets.drawing import write
from app.widgets.text.chips import AS_STORED, PADDING, ROW_GAP, chip_widths, flow_chips, token_text
from app.widgets.text.labels import font
from app.widgets.text.tagged import TINT, span_color, span_lines
from engine.data.columns.tags import Span
from engine.messages.explore.text import Token


class TokenRow(QWidget):
    """Shows at most `limit` tokens, and the number of the others."""

    def __init__(self, limit: int = 160, with_ids: bool = False) -> None:
        super().__init__()
        self._limit, self._with_ids = limit, with_ids
        self._tokens: tuple[Token, ...] = ()
        self._hidden_count = 0
        self._unknown = -1
        self._spans: tuple[Span, ...] = ()
        self._types: tuple[str, ...] = ()
        self._boxes: list[QRectF] = []
        self._layouts: dict[int, list[QRectF]] = {}  # by width
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_tokens(
        self,
        tokens: tuple[Token, ...],
        unknown: int,
        spans: Sequence[Span] = (),
        types: Sequence[str] = (),
    ) -> None:
        """Show tokens; `unknown` is the id of [UNK], the index in `types` gives a span's colour."""
        shown, colored = tokens[: self._limit], (tuple(spans), tuple(types))
        if (shown, len(tokens) - len(shown), unknown, *colored) == (
            self._tokens,
            self._hidden_count,
            self._unknown,
            self._spans,
            self._types,
        ):
            return
        self._tokens, self._hidden_count, self._unknown = shown, len(tokens) - len(shown), unknown
        self._spans, self._types = colored
        self._layouts = {}
        self._lay_out()
        self.setAccessibleName(self.tr("Tokens"))
        self.setAccessibleDescription(self._sentence())
        self.updateGeometry()
        self.update()

    @property
    def shown(self) -> tuple[Token, ...]:
        return self._tokens

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        boxes = self._boxes_at(width)
        return round(boxes[-1].bottom()) + 2 if boxes else self._line_height()

    def sizeHint(self) -> QSize:
        width = max(self.width(), 80 * SPACE)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(40 * SPACE), self._line_height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self._layouts = {}
            self._lay_out()
            self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            self._show_tooltip(event)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for index, (token, box) in enumerate(zip(self._tokens, self._boxes, strict=False)):
            if box.intersects(QRectF(event.rect())):
                self._paint(painter, token, box, self._span_at(index))
        for span in self._spans:
            for part in span_lines(self._boxes[span.start : min(span.end, len(self._tokens))]):
                name = QRectF(part)
                name.setTop(part.top() + self._chip_height() + SPACE)
                small, middle = font("small"), Qt.AlignmentFlag.AlignCenter
                write(painter, name, span.type, small, Role.MUTED, middle)
        if self._hidden_count and self._boxes:
            write(
                painter, self._boxes[-1].adjusted(0, 0, 1, 0), self._rest(), self.font(), Role.MUTED
            )

    def _span_at(self, index: int) -> Span | None:
        return next((span for span in self._spans if span.start <= index < span.end), None)

    def _paint(self, painter: QPainter, token: Token, box: QRectF, span: Span | None) -> None:
        role = Role.MUTED if token.special else SEGMENTS[token.segment % len(SEGMENTS)]
        if token.id == self._unknown:
            role = Role.WARN
        bar = colour(SEGMENTS[token.segment % len(SEGMENTS)])
        fill = colour(role, 0.06 if token.special else 0.14)
        if span is not None:
            bar, fill = span_color(span.type, self._types), span_color(span.type, self._types)
            fill.setAlphaF(TINT)
        text_box = QRectF(box.left(), box.top(), box.width(), self._chip_height())
        is_framed = token.special or token.id == self._unknown
        painter.setPen(QPen(colour(role, 0.7), 1) if is_framed else Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(text_box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        centre, color = Qt.AlignmentFlag.AlignCenter, Role.MUTED if token.special else Role.TEXT
        write(painter, text_box, token_text(token.text), mono_font(), color, centre | AS_STORED)
        painter.setPen(QPen(bar, 1.5))
        y = text_box.bottom() + 2
        for line in range(1 + token.segment % len(SEGMENTS)):
            line_y = y + 3 * line
            painter.drawLine(QPointF(box.left() + 1, line_y), QPointF(box.right() - 1, line_y))
        if self._with_ids:
            below = QRectF(box.left(), y + 4, box.width(), box.bottom() - y - 4)
            write(painter, below, str(token.id), _id_font(), Role.MUTED, centre)

    def _lay_out(self) -> None:
        self._boxes = self._boxes_at(self.width())

    def _boxes_at(self, width: int) -> list[QRectF]:
        """Lay out the boxes, cached by width since Qt asks for the height repeatedly."""
        if width not in self._layouts:
            self._layouts[width] = self._layout(width)
        return self._layouts[width]

    def _layout(self, width: int) -> list[QRectF]:
        metrics, ids = QFontMetricsF(mono_font()), QFontMetricsF(_id_font())
        widths = chip_widths(self._tokens, metrics)
        if self._with_ids:
            id_widths = (ids.horizontalAdvance(str(token.id)) + 2 for token in self._tokens)
            widths = [max(pair) for pair in zip(widths, id_widths, strict=True)]
        height = float(self._line_height())
        boxes = flow_chips(self._tokens, metrics, width, widths, height)
        if self._hidden_count and boxes:
            last, rest_width = boxes[-1], QFontMetricsF(self.font()).horizontalAdvance(self._rest())
            rest = QRectF(last.right() + 2 * PADDING, last.top(), rest_width, height)
            if rest.right() > width:
                rest.moveTo(PADDING, last.bottom() + ROW_GAP)
            boxes.append(rest)
        return boxes

    def _chip_height(self) -> float:
        return QFontMetricsF(mono_font()).height() + SPACE

    def _line_height(self) -> int:
        ids = QFontMetricsF(_id_font()).height() if self._with_ids else 0
        names = QFontMetricsF(font("small")).height() if self._spans else 0
        return round(self._chip_height() + 2 * SPACE + ids + names)

    def _rest(self) -> str:
        return self.tr("and %Ln more", "", self._hidden_count)

    def _sentence(self) -> str:
        tokens = " ".join(token_text(token.text) for token in self._tokens)
        shown = f"{tokens} {self._rest()}" if self._hidden_count else tokens
        return "; ".join([shown, *map(self._named, self._spans)])

    def _named(self, span: Span) -> str:
        inside = self._tokens[span.start : span.end]
        return f"{' '.join(token_text(token.text) for token in inside)} {span.type}"

    def _show_tooltip(self, event: QHelpEvent) -> None:
        point = QPointF(event.pos())
        for index, (token, box) in enumerate(zip(self._tokens, self._boxes, strict=False)):
            if box.contains(point):
                segment = self.tr("first text") if token.segment == 0 else self.tr("second text")
                text = self.tr("ID {0}, {1}").format(token.id, segment)
                if (span := self._span_at(index)) is not None:
                    text = f"{text}, {span.type}"
                QToolTip.showText(event.globalPos(), text, self, box.toRect())
                return
        QToolTip.hideText()


def _id_font() -> QFont:
    return mono_font(mono_font().pointSizeF() * 0.8)
