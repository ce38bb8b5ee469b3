"""A head as a figure for a paper or a lesson: lines, matrix, and a caption with the numbers.

Always in the light colours, whatever the window has. Shapes: S tokens that are shown.
"""

import io
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.pages.explore.chips import AS_STORED
from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.lines import paint_links
from app.pages.explore.panels.attention.links import Links
from app.resources import FAMILY, mono_font
from app.theme import LIGHT, Role

MARGIN = 24
LINES_WIDTH = 260
LARGEST_CELL = 20
MATRIX_SIDE = 960  # px that many tokens are squeezed into
READABLE = 8  # px of a cell from which tokens are written
SHARP = 2  # device pixels to each, in a PNG


@dataclass(frozen=True)
class Figure:
    """What is drawn; `caption` is a line or two below the title."""

    title: str
    caption: str
    tokens: tuple[str, ...]
    weights: np.ndarray  # float32 [S, S]
    links: Links

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
        width = 3 * MARGIN + 3 * self.label_width + LINES_WIDTH + side
        return QSize(round(max(width, 480)), round(self._top + side + MARGIN))

    @property
    def _top(self) -> float:
        return 84 + self.label_width

    def paint(self, painter: QPainter) -> None:
        """Everything, from the top left corner."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(QRectF(0, 0, self.size.width(), self.size.height()), _ink(Role.SURFACE))
        painter.setPen(_ink(Role.TEXT))
        painter.setFont(_font(17, bold=True))
        wide = self.size.width() - 2 * MARGIN
        painter.drawText(QRectF(MARGIN, 14, wide, 24), Qt.AlignmentFlag.AlignLeft, self.title)
        painter.setPen(_ink(Role.MUTED))
        painter.setFont(_font(11))
        wraps = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
        painter.drawText(QRectF(MARGIN, 40, wide, 40), wraps, self.caption)
        painter.setFont(_tokens(self.cell))
        right = self._paint_lines(painter)
        self._paint_matrix(painter, right + MARGIN + self.label_width)

    def _paint_lines(self, painter: QPainter) -> float:
        """Two columns of tokens with the links between; gives where they end."""
        left = MARGIN + self.label_width
        painter.save()
        painter.translate(left, self._top)
        paint_links(painter, self.links, LINES_WIDTH, self.cell, _ink(Role.ACCENT))
        painter.restore()
        self._paint_column(painter, MARGIN, Qt.AlignmentFlag.AlignRight)
        self._paint_column(painter, left + LINES_WIDTH, Qt.AlignmentFlag.AlignLeft)
        return left + LINES_WIDTH + self.label_width

    def _paint_matrix(self, painter: QPainter, left: float) -> None:
        side = self.cell * len(self.tokens)
        levels = pixels.stretched(pixels.levels(self.weights), max(1, round(side * SHARP)))
        low, high = _ink(Role.SURFACE), _ink(Role.ACCENT)
        painter.drawImage(QRectF(left, self._top, side, side), pixels.picture(levels, low, high))
        painter.setPen(_ink(Role.BORDER))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(left, self._top, side, side))
        self._paint_column(painter, left - self.label_width, Qt.AlignmentFlag.AlignRight)
        if self.cell < READABLE:
            return
        painter.setPen(_ink(Role.TEXT))
        for number, token in enumerate(self.tokens):
            painter.save()
            painter.translate(QPointF(left + number * self.cell, self._top - 4))
            painter.rotate(-90)
            box = QRectF(0, 0, self.label_width, self.cell)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | AS_STORED, token)
            painter.restore()

    def _paint_column(self, painter: QPainter, left: float, align: Qt.AlignmentFlag) -> None:
        if self.cell < READABLE:
            return
        painter.setPen(_ink(Role.TEXT))
        for number, token in enumerate(self.tokens):
            top = self._top + number * self.cell
            box = QRectF(left + 4, top, self.label_width - 8, self.cell)
            painter.drawText(box, align | Qt.AlignmentFlag.AlignVCenter | AS_STORED, token)


def png(figure: Figure) -> bytes:
    """The figure as a picture, twice as fine as a screen."""
    image = QImage(figure.size * SHARP, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SHARP)
    painter = QPainter(image)
    figure.paint(painter)
    painter.end()
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(kept.data())


def svg(figure: Figure) -> bytes:
    """The figure as a drawing; the matrix in it is a picture."""
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    drawing = QSvgGenerator()
    drawing.setOutputDevice(buffer)
    drawing.setSize(figure.size)
    drawing.setViewBox(QRectF(0, 0, figure.size.width(), figure.size.height()))
    drawing.setTitle(figure.title)
    drawing.setDescription(figure.caption)
    painter = QPainter(drawing)
    figure.paint(painter)
    painter.end()
    return bytes(kept.data())


def npy(weights: np.ndarray) -> bytes:
    """An array as the content of a `.npy` file."""
    kept = io.BytesIO()
    np.save(kept, weights)
    return kept.getvalue()


def _font(pixels_high: float, bold: bool = False) -> QFont:
    font = QFont(FAMILY)
    font.setPixelSize(round(pixels_high))
    font.setBold(bold)
    return font


def _tokens(cell: float) -> QFont:
    font = mono_font()
    font.setPixelSize(max(1, round(cell * 0.7)))
    return font


def _ink(role: Role) -> QColor:
    return QColor(LIGHT[role])
