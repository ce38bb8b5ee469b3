"""Figures to save: a drawing with title and caption, and the numbers behind it.

They have the light colours in every theme. A `Figure` is made in the GUI thread; everything
else works in any thread and paints the same sheet in each format: title, drawing, caption, or the
drawing alone.
"""

import html
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QImage,
    QImageWriter,
    QPageSize,
    QPainter,
    QPdfWriter,
)
from PySide6.QtSvg import QSvgGenerator

from app.resources import FAMILY, without_ligatures
from app.theme import Role, print_color
from app.widgets.text.labels import visible
from engine.errors import StudioError
from engine.files.spreadsheet import format_table

MARGIN = 24  # px around the drawing
MIN_SHEET_WIDTH = 480  # px; keeps the caption readable
TITLE, CAPTION = 17, 11  # font sizes in px
FILLED = 0.88  # of the width that a caption takes, which is wider in other fonts
MAX_LABEL = 200  # px; wider texts of an SVG file are sentences
MAX_PICTURE_SIDE = 20_000  # px
POINTS = 0.75  # page units per pixel: 72 per inch over 96
DOTS = 96  # px per inch
CHARACTERS = re.compile(rb"beginbfrange.*?endbfrange", re.DOTALL)  # of glyphs, not compressed
TAB = re.compile(rb"(\[[^\]]*)<0009>")
SVG_TEXT = re.compile(
    r'<text ([^>]*?)\bx="([-\d.]+)" ([^>]*font-size="([\d.]+)" font-weight="(\d+)"[^>]*?)\s*>'
    r"([^<]*)</text>"
)
FAMILIES = f"{FAMILY}, 'Segoe UI', 'Helvetica Neue', sans-serif"  # fallbacks


@dataclass(frozen=True)
class Table:
    """The numbers of a figure as rows, for a spreadsheet."""

    header: tuple[str, ...]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Figure:
    """A drawing to save.

    `paint(painter, size)` paints into a rectangle of `size` at the origin. It runs outside the GUI
    thread, so it may use only what it captured: arrays, texts and colours, no widget, no pixmap.
    """

    name: str  # file name without suffix: “attention-layer-3-head-7”
    title: str
    caption: str  # sentences with content, model, text and numbers
    size: QSize  # px, without title and caption
    paint: Callable[[QPainter, QSizeF], None] = field(compare=False)
    array: np.ndarray | None = field(default=None, compare=False)  # the exact values
    table: Callable[[], Table] | None = field(default=None, compare=False)
    cells: Table | None = field(default=None, compare=False)  # the texts of a drawn table
    has_texts: bool = True  # title and caption are drawn


def print_font(pixels: float, bold: bool = False) -> QFont:
    """The window's font in pixels, independent of the screen.

    Without ligatures and alternates, whose glyphs have no characters in a PDF.
    """
    font = without_ligatures(QFont(FAMILY))
    font.setPixelSize(max(1, round(pixels)))
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return font


# ── forms ────────────────────────────────────────────────────────────────────────────────────


def image(figure: Figure, scale: int = 1) -> QImage:
    """The sheet as an image with `scale` device pixels per pixel.

    Raises StudioError if it is too large.
    """
    size = sheet_size(figure) * scale
    if max(size.width(), size.height()) > MAX_PICTURE_SIDE:
        raise StudioError(
            "The figure is too large for a picture: {width} × {height} pixels.",
            "Save it as SVG or PDF, or shorten the text.",
            width=size.width(),
            height=size.height(),
        )
    picture = QImage(size, QImage.Format.Format_RGB32)
    picture.setDevicePixelRatio(scale)
    picture.setText("Title", figure.title)
    picture.setText("Description", figure.caption)
    painter = QPainter(picture)
    paint_sheet(painter, figure)
    painter.end()
    return picture


def png(figure: Figure, scale: int = 1) -> bytes:
    """The sheet as a PNG file with title and caption as metadata."""

    def write(buffer: QBuffer) -> None:
        QImageWriter(buffer, QByteArray(b"png")).write(image(figure, scale))

    return to_bytes(write)


def svg(figure: Figure) -> bytes:
    """The sheet as an SVG file in which text stays text."""

    def write(buffer: QBuffer) -> None:
        size = sheet_size(figure)
        drawing = QSvgGenerator()
        drawing.setOutputDevice(buffer)
        drawing.setSize(size)
        drawing.setViewBox(QRectF(0, 0, size.width(), size.height()))
        drawing.setResolution(DOTS)
        drawing.setTitle(figure.title)
        drawing.setDescription(figure.caption)
        painter = QPainter(drawing)
        paint_sheet(painter, figure)
        painter.end()

    family = f'font-family="{FAMILY}"'.encode()
    drawing = SVG_TEXT.sub(_anchor, to_bytes(write).decode("utf-8")).encode("utf-8")
    return drawing.replace(family, f'font-family="{FAMILIES}"'.encode())


def _anchor(text: re.Match[str]) -> str:
    """An SVG text with its width, which it keeps in another font.

    A label is anchored at its middle, since some programs, as librsvg, ignore the width.
    """
    before, left, attributes, size, weight, content = text.groups()
    metrics = QFontMetricsF(print_font(float(size), bold=int(weight) > QFont.Weight.Normal.value))
    width = metrics.horizontalAdvance(html.unescape(content))
    if not width:
        return text[0]
    at, anchor = (left, "start") if width > MAX_LABEL else (float(left) + width / 2, "middle")
    return (
        f'<text {before}x="{at}" {attributes} text-anchor="{anchor}" '
        f'textLength="{width:.2f}" lengthAdjust="spacingAndGlyphs">{content}</text>'
    )


def pdf(figure: Figure) -> bytes:
    """The sheet as a PDF file of one page."""

    def write(buffer: QBuffer) -> None:
        size = sheet_size(figure)
        document = QPdfWriter(buffer)
        document.setTitle(figure.title)
        document.setCreator("BERT Studio")
        document.setResolution(DOTS)
        page = QSizeF(size) * POINTS
        document.setPageSize(QPageSize(page, QPageSize.Unit.Point, figure.name))
        document.setPageMargins(QMarginsF())
        painter = QPainter(document)
        paint_sheet(painter, figure)
        painter.end()

    return with_blanks(to_bytes(write))


def with_blanks(content: bytes) -> bytes:
    """A PDF of Qt whose blanks are read as blanks.

    Qt states the first character that a glyph shows: of the blank, that is the tab.
    """
    return CHARACTERS.sub(lambda found: TAB.sub(rb"\1<0020>", found[0]), content)


def npy(array: np.ndarray) -> bytes:
    """An array as the content of a `.npy` file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def csv_text(table: Table, separator: str = ",", raw: bool = False) -> str:
    """A table as CSV with a header; numbers have nine digits, which identify a float32.

    Texts that a spreadsheet would run as formulas are escaped unless `raw`.
    """
    rows = ([_float32(cell) for cell in row] for row in table.rows)
    return format_table(table.header, rows, separator, raw)


def _float32(cell: object) -> object:
    """A number without meaningless digits, which is read as the same float32."""
    return float(f"{cell:.9g}") if isinstance(cell, float) else cell


def to_bytes(write: Callable[[QBuffer], None]) -> bytes:
    """Return the bytes that `write` writes to a buffer."""
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    write(buffer)
    buffer.close()
    return bytes(content.data())


# ── sheet ────────────────────────────────────────────────────────────────────────────────────


def sheet_size(figure: Figure) -> QSize:
    """Size of the drawing with its title and caption, if they are drawn."""
    least = MIN_SHEET_WIDTH if figure.has_texts else 0
    width = max(figure.size.width(), least) + 2 * MARGIN
    above, below = _text_heights(figure, width)
    return QSize(width, round(MARGIN + above + figure.size.height() + below + MARGIN))


def paint_sheet(painter: QPainter, figure: Figure) -> None:
    """Paint title, drawing and caption from the origin."""
    size = sheet_size(figure)
    inner = size.width() - 2 * MARGIN
    above, below = _text_heights(figure, size.width())
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(QRectF(0, 0, size.width(), size.height()), print_color(Role.SURFACE))
    wraps = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap
    if figure.has_texts:
        painter.setPen(print_color(Role.TEXT))
        painter.setFont(print_font(TITLE, bold=True))
        painter.drawText(QRectF(MARGIN, MARGIN, inner, above), wraps, visible(figure.title))
        caption = QRectF(MARGIN, MARGIN + above + figure.size.height(), FILLED * inner, below)
        painter.setPen(print_color(Role.MUTED))
        painter.setFont(print_font(CAPTION))
        caption.setTop(caption.top() + MARGIN / 2)
        painter.drawText(caption, wraps, visible(figure.caption))
    painter.save()
    painter.translate(MARGIN, MARGIN + above)
    figure.paint(painter, QSizeF(figure.size))
    painter.restore()


def _text_heights(figure: Figure, width: int) -> tuple[float, float]:
    if not figure.has_texts:
        return 0.0, 0.0
    inner = width - 2 * MARGIN
    title = _height(figure.title, print_font(TITLE, bold=True), inner)
    caption = _height(figure.caption, print_font(CAPTION), FILLED * inner)
    return title + MARGIN / 2, caption + MARGIN / 2 if figure.caption else 0.0


def _height(text: str, font: QFont, width: float) -> float:
    if not text:
        return 0.0
    flags = Qt.TextFlag.TextWordWrap
    box = QFontMetricsF(font).boundingRect(QRectF(0, 0, width, 100_000), flags, visible(text))
    return float(math.ceil(box.height()))  # whole pixels keep the drawing sharp
