"""The chosen heads as a figure for a paper or a lesson: lines, and the matrix of the current one.

Shapes: S tokens that are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.drawing import head_role, paint_links
from app.pages.explore.panels.attention.links import Links
from app.resources import mono_font
from app.theme import Role
from app.widgets.chips import AS_STORED
from app.widgets.figure import ink

GAP = 24.0
LINES_WIDTH = 260.0
LARGEST_CELL = 20
MATRIX_SIDE = 960  # px that many tokens are squeezed into
READABLE = 8  # px of a cell from which tokens are written
SHARP = 2  # pixels of the matrix to one of the sheet


@dataclass(frozen=True)
class Drawing:
    """What is drawn; the last of the links are of the head that the matrix shows."""

    tokens: tuple[str, ...]
    weights: np.ndarray  # float32 [S, S]
    drawn: Sequence[Links]
    most: float = 1.0  # the number that has the strongest colour

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
        return QSize(round(width), round(self.label_width + side))

    def paint(self, painter: QPainter, _: QSizeF) -> None:
        """Everything, from the top left corner."""
        painter.setFont(_tokens(self.cell))
        left, top = self.label_width, self.label_width
        for number, links in enumerate(self.drawn):
            count = len(self.drawn)
            painter.save()
            painter.translate(left, top)
            hue = ink(head_role(number, count), count**-0.5)
            paint_links(painter, links, LINES_WIDTH, self.cell, hue, self.most)
            painter.restore()
        self._paint_column(painter, 0, Qt.AlignmentFlag.AlignRight)
        self._paint_column(painter, left + LINES_WIDTH, Qt.AlignmentFlag.AlignLeft)
        right = left + LINES_WIDTH + self.label_width
        self._paint_matrix(painter, right + GAP + self.label_width)

    def _paint_matrix(self, painter: QPainter, left: float) -> None:
        side, top = self.cell * len(self.tokens), self.label_width
        levels = pixels.levels(self.weights, self.most)
        levels = pixels.stretched(levels, max(1, round(side * SHARP)))
        low, high = ink(Role.SURFACE), ink(Role.ACCENT)
        painter.drawImage(QRectF(left, top, side, side), pixels.picture(levels, low, high))
        painter.setPen(ink(Role.BORDER))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(left, top, side, side))
        self._paint_column(painter, left - self.label_width, Qt.AlignmentFlag.AlignRight)
        if self.cell < READABLE:
            return
        painter.setPen(ink(Role.TEXT))
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
        painter.setPen(ink(Role.TEXT))
        for number, token in enumerate(self.tokens):
            top = self.label_width + number * self.cell
            box = QRectF(left + 4, top, self.label_width - 8, self.cell)
            painter.drawText(box, align | Qt.AlignmentFlag.AlignVCenter | AS_STORED, token)


def _tokens(cell: float) -> QFont:
    font = mono_font()
    font.setPixelSize(max(1, round(cell * 0.7)))
    return font
