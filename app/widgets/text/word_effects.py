"""Tinted words with a small text below each, such as their effect on a prediction."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.resources import mono_font
from app.theme import PICKED, SPACE, Palette, Role, colour, px
from app.widgets.drawing import fill, flow, write
from app.widgets.keys import clamp, horizontal_step
from app.widgets.text.chips import AS_STORED
from app.widgets.text.labels import font, visible
from engine.messages.explore.attribution import WordEffect

MAX_WORDS = 400
MAX_CHARACTERS = 40  # per word
MAX_OPACITY = 0.5
POSITIVE_ROLE, NEGATIVE_ROLE = Role.CHART_1, Role.BAD


@dataclass(frozen=True)
class TintedWord:
    """A word on a tinted background, with a text below it; `is_muted` for special tokens."""

    text: str
    below: str
    role: Role
    opacity: float
    is_muted: bool = False


def tint_effects(words: Sequence[WordEffect], max_effect: float = 0.0) -> list[TintedWord]:
    """Words tinted by the sign and size of their effects, with the number below.

    `max_effect` is the effect with the strongest tint; 0: the largest.
    """
    max_effect = max_effect or max((abs(word.effect) for word in words), default=0) or 1
    return [
        TintedWord(
            _shorten(word.text),
            f"{word.effect:+.2f}".replace("-", "−"),
            POSITIVE_ROLE if word.effect > 0 else NEGATIVE_ROLE,
            MAX_OPACITY * abs(word.effect) / max_effect,
        )
        for word in words[:MAX_WORDS]
    ]


class WordRow(QWidget):
    """Paints tinted words in order, each above its small text.

    A click picks a word. If `selectable`, the left and right arrow keys do, too.

    Signals:
        word_picked: index of the picked word.
    """

    word_picked = Signal(int)

    def __init__(self, name: str, selectable: bool = False) -> None:
        super().__init__()
        if selectable:
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.shown: tuple[TintedWord, ...] = ()
        self.chosen = -1  # index of the framed word
        self._boxes: list[QRectF] = []
        self.setAccessibleName(name)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_words(self, words: Sequence[TintedWord], chosen: int = -1) -> None:
        if (tuple(words), chosen) == (self.shown, self.chosen):
            return
        self.shown, self.chosen = tuple(words), chosen
        text = ", ".join(f"{word.text} {word.below}".strip() for word in self.shown)
        self.setAccessibleDescription(text)
        self._boxes = self._layout(self.width())
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        boxes = self._layout(width)
        return round(boxes[-1].bottom()) + 2 if boxes else 0

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, self.heightForWidth(max(self.width(), 80 * SPACE)))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(40 * SPACE), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._boxes = self._layout(self.width())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        if not step or not self.shown:
            super().keyPressEvent(event)
            return
        self.word_picked.emit(clamp(self.chosen + step, len(self.shown) - 1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for index, box in enumerate(self._boxes):
            if box.contains(event.position()):
                self.word_picked.emit(index)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        fonts = mono_font(), font("small")
        paint_words(painter, self.shown, self._boxes, colour, fonts)
        if 0 <= self.chosen < len(self._boxes):
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(PICKED), 1.5))
            painter.drawRoundedRect(self._boxes[self.chosen].adjusted(1, 1, -1, -1), 4, 4)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(Role.ACCENT), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _layout(self, width: int) -> list[QRectF]:
        return flow_words(self.shown, width, (mono_font(), font("small")))


def paint_words(
    painter: QPainter,
    words: Sequence[TintedWord],
    boxes: Sequence[QRectF],
    palette: Palette,
    fonts: tuple[QFont, QFont],
) -> None:
    """Paint words into their boxes, with the fonts of a word and of the text below."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    height = _line_heights(fonts)[0]
    for word, box in zip(words, boxes, strict=True):
        upper = QRectF(box.left(), box.top(), box.width(), height)
        fill(painter, upper, palette(word.role, word.opacity), 4)
        pen, centre = Role.MUTED if word.is_muted else Role.TEXT, Qt.AlignmentFlag.AlignCenter
        write(painter, upper, word.text, fonts[0], palette(pen, 1.0), centre | AS_STORED)
        lower = QRectF(box.left(), upper.bottom(), box.width(), box.bottom() - upper.bottom())
        write(painter, lower, word.below, fonts[1], palette(Role.MUTED, 1.0), centre)


def flow_words(
    words: Sequence[TintedWord], width: float, fonts: tuple[QFont, QFont]
) -> list[QRectF]:
    """A box for each word, in as many rows as this width needs."""
    metrics, small = (QFontMetricsF(font) for font in fonts)
    height = sum(_line_heights(fonts))
    widths = [
        max(metrics.horizontalAdvance(word.text), small.horizontalAdvance(word.below))
        for word in words
    ]
    return flow([text_width + 2 * SPACE for text_width in widths], height, width, SPACE, 2 * SPACE)


def _line_heights(fonts: tuple[QFont, QFont]) -> tuple[float, float]:
    """Heights of a word's line and of the line below it."""
    word, below = (QFontMetricsF(font).height() for font in fonts)
    return word + SPACE, below + 1


def _shorten(text: str) -> str:
    shown = visible(text[: MAX_CHARACTERS + 1]).replace("\n", " ")
    return shown if len(shown) <= MAX_CHARACTERS else f"{shown[:MAX_CHARACTERS]}…"
