"""Painted pictures of the tasks: input, network, head and output."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme
from app.theme import Role, px
from app.translation import in_language, tr

CHIP = 26  # px, height of a word
GAP = 6
BLOCK = 38  # px, height of the network
ARROW = 18


@dataclass(frozen=True)
class Scene:
    """Content of a picture: words, the network, a head above word `head_index`, and an output."""

    words: str  # separated by spaces
    second_start: int  # index of the second text's first word, or the number of words
    head_index: int
    head: str
    answer: str


class TaskPicture(QWidget):
    """A scene in the colours of the theme at any size. Its card describes it to screen readers."""

    def __init__(self, scene: Scene, from_scratch: bool) -> None:
        """`from_scratch`: the network is not pre-trained."""
        super().__init__()
        self._scene, self._from_scratch = scene, from_scratch
        self._words, self._head = scene.words.split(), in_language(scene.head)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def sizeHint(self) -> QSize:
        return QSize(px(320), px(2 * CHIP + BLOCK + 2 * ARROW + 2 * GAP))

    def minimumSizeHint(self) -> QSize:
        return QSize(240, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = self._scale(painter)
        painter.scale(scale, scale)
        words = self._word_boxes(painter, self.width() / scale, self.height() / scale)
        block = QRectF(words[0].left(), words[0].top() - ARROW - BLOCK, 0, BLOCK)
        block.setRight(words[-1].right())
        for box in words:
            _arrow(painter, box.center().x(), box.top() - 2, block.bottom() + 3, Role.BORDER)
        self._paint_words(painter, words)
        self._paint_block(painter, block)
        head_x = words[self._scene.head_index].center().x()
        self._paint_answer(painter, head_x, block, self.width() / scale)
        painter.end()

    def _scale(self, painter: QPainter) -> float:
        """The scale of the picture, which is drawn at the standard text size and fits the width."""
        font = painter.font()
        font.setPointSizeF(font.pointSizeF() / theme.text_scale())
        painter.setFont(font)
        widths = self._widths(painter)
        return min(theme.text_scale(), (self.width() - 2) / (sum(widths) + GAP * len(widths)))

    def _widths(self, painter: QPainter) -> list[float]:
        return [painter.fontMetrics().horizontalAdvance(word) + 12.0 for word in self._words]

    def _word_boxes(self, painter: QPainter, width: float, height: float) -> list[QRectF]:
        """The boxes of the words, centred."""
        widths = self._widths(painter)
        x = (width - sum(widths) - GAP * (len(widths) - 1)) / 2
        boxes = []
        for word_width in widths:
            boxes.append(QRectF(x, height - CHIP - 1.0, word_width, CHIP))
            x += word_width + GAP
        return boxes

    def _paint_words(self, painter: QPainter, boxes: list[QRectF]) -> None:
        for index, (word, box) in enumerate(zip(self._words, boxes, strict=True)):
            segment = theme.SEGMENTS[index >= self._scene.second_start]
            special = word.startswith("[")
            role = Role.ACCENT if word == "[MASK]" else Role.MUTED if special else segment
            _chip(painter, box, word, role, plain=special and word != "[MASK]")

    def _paint_block(self, painter: QPainter, block: QRectF) -> None:
        """The network: filled if pre-trained, else dashed."""
        pen = QPen(theme.colour(Role.ACCENT), 1.5)
        if self._from_scratch:
            pen.setStyle(Qt.PenStyle.DashLine)
            painter.setBrush(Qt.BrushStyle.NoBrush)
        else:
            painter.setBrush(theme.colour(Role.ACCENT_SOFT))
        painter.setPen(pen)
        painter.drawRoundedRect(block, 7, 7)
        painter.setPen(theme.colour(Role.ACCENT))
        text = tr("new BERT") if self._from_scratch else "BERT"
        painter.drawText(block, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_answer(self, painter: QPainter, x: float, block: QRectF, right: float) -> None:
        """The head above the token that it reads, and its output."""
        metrics = painter.fontMetrics()
        width = metrics.horizontalAdvance(self._head) + 18.0
        left = min(max(1.0, x - width / 2), right - width - 1)
        head = QRectF(left, block.top() - ARROW - CHIP, width, CHIP)
        _arrow(painter, x, block.top() - 2, head.bottom() + 3, Role.ACCENT)
        painter.setPen(QPen(theme.colour(Role.ACCENT), 1.5))
        painter.setBrush(theme.colour(Role.ACCENT))
        painter.drawRoundedRect(head, CHIP / 2, CHIP / 2)
        painter.setPen(theme.colour(Role.ON_ACCENT))
        painter.drawText(head, Qt.AlignmentFlag.AlignCenter, self._head)
        answer_width = metrics.horizontalAdvance(self._scene.answer) + 16.0
        fits = head.right() + 26 + answer_width < right
        output_left = head.right() + 26 if fits else head.left() - 26 - answer_width
        output = QRectF(output_left, head.top(), answer_width, CHIP)
        start, end = (
            (head.right() + 3, output_left - 3) if fits else (head.left() - 3, output.right() + 3)
        )
        _horizontal_arrow(
            painter, QPointF(start, head.center().y()), QPointF(end, output.center().y())
        )
        _chip(painter, output, self._scene.answer, Role.GOOD)


def _chip(painter: QPainter, box: QRectF, word: str, role: Role, plain: bool = False) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(role, 0.08 if plain else 0.16))
    painter.drawRoundedRect(box, 4, 4)
    painter.setPen(theme.colour(Role.MUTED if plain else Role.TEXT))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, word)


def _arrow(painter: QPainter, x: float, start: float, end: float, role: Role) -> None:
    painter.setPen(QPen(theme.colour(role), 1.5))
    painter.drawLine(QPointF(x, start), QPointF(x, end + 3))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(role))
    painter.drawPolygon(
        QPolygonF([QPointF(x, end), QPointF(x - 3.5, end + 5), QPointF(x + 3.5, end + 5)])
    )


def _horizontal_arrow(painter: QPainter, start: QPointF, end: QPointF) -> None:
    tail_sign = -1 if end.x() > start.x() else 1
    painter.setPen(QPen(theme.colour(Role.ACCENT), 1.5))
    painter.drawLine(start, QPointF(end.x() + 3 * tail_sign, end.y()))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(Role.ACCENT))
    tail = end.x() + 5 * tail_sign
    painter.drawPolygon(
        QPolygonF([end, QPointF(tail, end.y() - 3.5), QPointF(tail, end.y() + 3.5)])
    )
