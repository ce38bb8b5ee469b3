"""Words with what each does for a prediction: a tint for the sign and size, the number beside it.

The colour is never alone: every word carries its number, with its sign.
"""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.resources import mono_font
from app.theme import SPACE, Role, colour
from app.widgets.chips import AS_STORED
from app.widgets.text import font, visible
from engine.messages.explore.occlusion import WordEffect

MOST_WORDS = 400  # that are painted
MOST_CHARACTERS = 40  # of a word
STRONGEST = 0.5  # opacity of the tint of the word with the largest effect
FOR, AGAINST = Role.CHART_1, Role.BAD


class Words(QWidget):
    """Paints words in their order, each over the number of its effect."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.shown: tuple[WordEffect, ...] = ()
        self._boxes: list[QRectF] = []
        self.setAccessibleName(name)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_words(self, words: Sequence[WordEffect]) -> None:
        self.shown = tuple(words[:MOST_WORDS])
        said = ", ".join(f"{_painted(word)} {_number(word)}" for word in self.shown)
        self.setAccessibleDescription(said)
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

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        most = max((abs(word.effect) for word in self.shown), default=0) or 1
        height = self._line_heights()[0]
        for word, box in zip(self.shown, self._boxes, strict=True):
            tint = colour(FOR if word.effect > 0 else AGAINST, STRONGEST * abs(word.effect) / most)
            upper = QRectF(box.left(), box.top(), box.width(), height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(tint)
            painter.drawRoundedRect(upper, 4, 4)
            painter.setPen(colour(Role.TEXT))
            painter.setFont(mono_font())
            painter.drawText(upper, Qt.AlignmentFlag.AlignCenter | AS_STORED, _painted(word))
            painter.setPen(colour(Role.MUTED))
            painter.setFont(font("small"))
            lower = QRectF(box.left(), upper.bottom(), box.width(), box.bottom() - upper.bottom())
            painter.drawText(lower, Qt.AlignmentFlag.AlignCenter, _number(word))

    def _line_heights(self) -> tuple[float, float]:
        """Of a word, and of the number below it."""
        small = QFontMetricsF(font("small")).height()
        return QFontMetricsF(mono_font()).height() + SPACE, small + 1

    def _place(self, width: int) -> list[QRectF]:
        metrics, small = QFontMetricsF(mono_font()), QFontMetricsF(font("small"))
        height = sum(self._line_heights())
        boxes: list[QRectF] = []
        x = y = 0.0
        for word in self.shown:
            wide = 2 * SPACE + max(
                metrics.horizontalAdvance(_painted(word)), small.horizontalAdvance(_number(word))
            )
            if x and x + wide > width:
                x, y = 0.0, y + height + 2 * SPACE
            boxes.append(QRectF(x, y, wide, height))
            x += wide + SPACE
        return boxes


def _painted(word: WordEffect) -> str:
    text = visible(word.text[: MOST_CHARACTERS + 1]).replace("\n", " ")
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _number(word: WordEffect) -> str:
    return f"{word.effect:+.2f}".replace("-", "−")
