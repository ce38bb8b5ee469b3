"""The chosen heads as a figure for a paper or a lesson: lines, and the matrix of the current one.

Shapes: S tokens that are shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.drawing import (
    dashed,
    head_dashes,
    head_role,
    paint_links,
)
from app.pages.explore.panels.attention.links import Links
from app.resources import mono_font
from app.theme import Role, print_color
from app.widgets.charts.figure import paper_font
from app.widgets.text.chips import AS_STORED
from app.widgets.text.numbers import decimal

GAP = 24.0
LINES_WIDTH = 260.0
LARGEST_CELL = 20
MATRIX_SIDE = 960  # px that many tokens are squeezed into
READABLE = 8  # px of a cell from which tokens are written
AS_SHAPES = 128  # tokens up to which every cell of a map is a shape of its own
SCALE_WIDTH, SCALE_HEIGHT, BAR = 220.0, 44.0, 10.0  # px of the colour scale and its bar
KEY_ROW = 18.0  # px of the name of a head
SMALL = 11  # px of its letters
TICKS = (0.0, 0.1, 0.5, 1.0)  # of the largest number


@dataclass(frozen=True)
class Drawing:
    """What is drawn; the last of the links are of the head that the matrix shows."""

    tokens: tuple[str, ...]
    weights: np.ndarray  # float32 [S, S]
    drawn: Sequence[Links]
    most: float = 1.0  # the number that has the strongest colour
    value: str = ""  # what the numbers are called
    heads: tuple[str, ...] = ("",)  # whose the links are

    @property
    def cell(self) -> float:
        return min(LARGEST_CELL, max(2.0, MATRIX_SIDE / max(1, len(self.tokens))))

    @property
    def label_width(self) -> float:
        if self.cell < READABLE:
            return 4.0
        metrics = QFontMetricsF(_tokens(self.cell))
        return max((metrics.horizontalAdvance(token) for token in self.tokens), default=0.0) + 8

    @property
    def size(self) -> QSize:
        side = self.cell * len(self.tokens)
        width = GAP + 3 * self.label_width + LINES_WIDTH + side
        return QSize(round(width), round(self.label_width + side + GAP + self._foot()))

    def paint(self, painter: QPainter, _: QSizeF) -> None:
        """Everything, from the top left corner."""
        painter.setFont(_tokens(self.cell))
        left, top = self.label_width, self.label_width
        for number, links in enumerate(self.drawn):
            count = len(self.drawn)
            painter.save()
            painter.translate(left, top)
            hue = print_color(head_role(number, count), count**-0.5)
            dashes = head_dashes(number, count)
            paint_links(painter, links, LINES_WIDTH, self.cell, hue, self.most, dashes)
            painter.restore()
        self._paint_column(painter, 0, Qt.AlignmentFlag.AlignRight)
        self._paint_column(painter, left + LINES_WIDTH, Qt.AlignmentFlag.AlignLeft)
        right = left + LINES_WIDTH + self.label_width
        self._paint_matrix(painter, right + GAP + self.label_width)
        foot = top + self.cell * len(self.tokens) + GAP
        paint_scale(painter, QPointF(right + GAP, foot), self.value, self.most)
        self._paint_key(painter, left, foot)

    def _foot(self) -> float:
        """px below the maps, for the colour scale and the names of the heads."""
        return max(SCALE_HEIGHT, KEY_ROW * len(self.heads) if len(self.heads) > 1 else 0.0)

    def _paint_key(self, painter: QPainter, left: float, top: float) -> None:
        """Which lines are of which head, where there are several."""
        count = len(self.heads)
        if count == 1:
            return
        painter.setFont(paper_font(SMALL))
        for number, name in enumerate(self.heads):
            y = top + KEY_ROW * (number + 0.5)
            pen = QPen(print_color(head_role(number, count)), 2)
            painter.setPen(dashed(pen, head_dashes(number, count)))
            painter.drawLine(QPointF(left, y), QPointF(left + 36, y))
            painter.setPen(print_color(Role.TEXT))
            box = QRectF(left + 44, y - KEY_ROW / 2, LINES_WIDTH, KEY_ROW)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, name)

    def _paint_matrix(self, painter: QPainter, left: float) -> None:
        side, top = self.cell * len(self.tokens), self.label_width
        paint_map(painter, self.weights, QRectF(left, top, side, side), self.most)
        self._paint_column(painter, left - self.label_width, Qt.AlignmentFlag.AlignRight)
        if self.cell < READABLE:
            return
        painter.setPen(print_color(Role.TEXT))
        for number, token in enumerate(self.tokens):
            painter.save()
            painter.translate(QPointF(left + number * self.cell, top - 4))
            painter.rotate(-90)
            box = QRectF(0, 0, self.label_width, self.cell)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | AS_STORED, token)
            painter.restore()

    def _paint_column(self, painter: QPainter, left: float, align: Qt.AlignmentFlag) -> None:
        if self.cell < READABLE:
            return
        painter.setPen(print_color(Role.TEXT))
        for number, token in enumerate(self.tokens):
            top = self.label_width + number * self.cell
            box = QRectF(left + 4, top, self.label_width - 8, self.cell)
            painter.drawText(box, align | Qt.AlignmentFlag.AlignVCenter | AS_STORED, token)


def paint_map(painter: QPainter, weights: np.ndarray, field: QRectF, most: float) -> None:
    """Float32 [S, S] as squares; of many tokens as a picture with a pixel for each."""
    levels = pixels.levels(weights, most)
    low, high = print_color(Role.SURFACE), print_color(Role.ACCENT)
    if len(levels) > AS_SHAPES:
        painter.drawImage(field, pixels.picture(np.ascontiguousarray(levels), low, high))
    else:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        side = field.width() / max(1, len(levels))
        for row, column, count, level in _runs(levels):
            box = QRectF(column * side, row * side, count * side, side)
            shade = pixels.between(low, high, level / pixels.TOP)
            painter.fillRect(box.translated(field.topLeft()), shade)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(print_color(Role.BORDER))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(field)


def _runs(levels: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """Row, column, how many, and the level of neighbours in a row that are alike; of no white."""
    for row, line in enumerate(levels):
        starts = np.flatnonzero(np.append(True, line[1:] != line[:-1])).tolist()
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            if line[start]:
                yield row, start, end - start, int(line[start])


def paint_scale(painter: QPainter, at: QPointF, name: str, most: float) -> None:
    """What the colours mean: a bar from 0 to the largest number, over square roots."""
    bar = QRectF(at.x(), at.y() + KEY_ROW, SCALE_WIDTH, BAR)
    painter.setFont(paper_font(SMALL))
    painter.setPen(print_color(Role.TEXT))
    painter.drawText(QRectF(at.x(), at.y(), SCALE_WIDTH, KEY_ROW), Qt.AlignmentFlag.AlignLeft, name)
    low, high = print_color(Role.SURFACE), print_color(Role.ACCENT)
    steps = 64
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for step in range(steps):
        box = QRectF(bar.left() + step * bar.width() / steps, bar.top(), bar.width() / steps, BAR)
        painter.fillRect(box, pixels.between(low, high, step / (steps - 1)))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(print_color(Role.BORDER))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(bar)
    painter.setPen(print_color(Role.MUTED))
    for tick in TICKS:
        x = bar.left() + bar.width() * tick**0.5
        box = QRectF(x - 30, bar.bottom() + 2, 60, KEY_ROW)
        text = decimal(tick * most, 2) if tick else "0"
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, text)


def _tokens(cell: float) -> QFont:
    font = mono_font()
    font.setPixelSize(max(1, round(cell * 0.7)))
    return font
