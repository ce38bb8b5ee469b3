"""Words with their effect on a prediction: tinted by sign and size, with the number below.

Besides its colour every word has its number with its sign.
"""

from collections.abc import Sequence

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
from app.theme import PICKED, SPACE, Palette, Role, colour
from app.widgets.drawing import fill, flow, write
from app.widgets.keys import clamp, horizontal_step
from app.widgets.text.chips import AS_STORED
from app.widgets.text.labels import font, visible
from engine.messages.explore.occlusion import WordEffect

MOST_WORDS = 400  # painted
MOST_CHARACTERS = 40  # of a word
STRONGEST = 0.5  # opacity of the largest effect
FOR, AGAINST = Role.CHART_1, Role.BAD


class Words(QWidget):
    """Paints words in order, each over the number of its effect.

    With `picks`, a click or the left and right arrow keys pick a word.

    Signals:
        word_picked: index of the picked word.
    """

    word_picked = Signal(int)

    def __init__(self, name: str, picks: bool = False) -> None:
        super().__init__()
        if picks:
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.shown: tuple[WordEffect, ...] = ()
        self.chosen = -1  # index of the framed word
        self.most = 0.0  # effect with the strongest tint; 0: the largest shown
        self._boxes: list[QRectF] = []
        self.setAccessibleName(name)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_words(self, words: Sequence[WordEffect], chosen: int = -1, most: float = 0.0) -> None:
        shown = tuple(words[:MOST_WORDS])
        if (shown, chosen, most) == (self.shown, self.chosen, self.most):
            return
        self.shown, self.chosen, self.most = shown, chosen, most
        text = ", ".join(f"{_painted(word)} {_number(word)}" for word in self.shown)
        self.setAccessibleDescription(text)
        self._boxes = self._place(self.width())
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        boxes = self._place(width)
        return round(boxes[-1].bottom()) + 2 if boxes else 0

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, self.heightForWidth(max(self.width(), 80 * SPACE)))

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._boxes = self._place(self.width())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        if not step or not self.shown:
            super().keyPressEvent(event)
            return
        self.word_picked.emit(clamp(self.chosen + step, len(self.shown) - 1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for number, box in enumerate(self._boxes):
            if box.contains(event.position()):
                self.word_picked.emit(number)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        fonts = mono_font(), font("small")
        paint_words(painter, self.shown, self._boxes, colour, fonts, self.most)
        if 0 <= self.chosen < len(self._boxes):
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(PICKED), 1.5))
            painter.drawRoundedRect(self._boxes[self.chosen].adjusted(1, 1, -1, -1), 4, 4)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(Role.ACCENT), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _place(self, width: int) -> list[QRectF]:
        return place_words(self.shown, width, (mono_font(), font("small")))


def paint_words(
    painter: QPainter,
    words: Sequence[WordEffect],
    boxes: Sequence[QRectF],
    palette: Palette,
    fonts: tuple[QFont, QFont],
    most: float = 0.0,
) -> None:
    """Paint words into their boxes, with the fonts of a word and of its number."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    most = most or max((abs(word.effect) for word in words), default=0) or 1
    height = _line_heights(fonts)[0]
    for word, box in zip(words, boxes, strict=True):
        tint = palette(FOR if word.effect > 0 else AGAINST, STRONGEST * abs(word.effect) / most)
        upper = QRectF(box.left(), box.top(), box.width(), height)
        fill(painter, upper, tint, 4)
        centre = Qt.AlignmentFlag.AlignCenter
        write(painter, upper, _painted(word), fonts[0], palette(Role.TEXT, 1.0), centre | AS_STORED)
        lower = QRectF(box.left(), upper.bottom(), box.width(), box.bottom() - upper.bottom())
        write(painter, lower, _number(word), fonts[1], palette(Role.MUTED, 1.0), centre)


def place_words(
    words: Sequence[WordEffect], width: float, fonts: tuple[QFont, QFont]
) -> list[QRectF]:
    """A box for each word, in as many rows as this width needs."""
    metrics, small = (QFontMetricsF(each) for each in fonts)
    height = sum(_line_heights(fonts))
    widths = [
        max(metrics.horizontalAdvance(_painted(word)), small.horizontalAdvance(_number(word)))
        for word in words
    ]
    return flow([each + 2 * SPACE for each in widths], height, width, SPACE, 2 * SPACE)


def _line_heights(fonts: tuple[QFont, QFont]) -> tuple[float, float]:
    """Of a word, and of the number below it."""
    word, number = (QFontMetricsF(each).height() for each in fonts)
    return word + SPACE, number + 1


def _painted(word: WordEffect) -> str:
    text = visible(word.text[: MOST_CHARACTERS + 1]).replace("\n", " ")
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _number(word: WordEffect) -> str:
    return f"{word.effect:+.2f}".replace("-", "−")
