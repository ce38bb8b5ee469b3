"""Links as straight lines: selection, colours and painting.

Shapes: S tokens that are shown.
"""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QLineF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen

from app.pages.explore.panels.attention.links import Links
from app.resources import mono_font
from app.theme import CHART, DASHES, DASHES_OF, Role

BUCKETS = 12  # levels of opacity; lines of a level are drawn with one call
THICK_LINES = 400  # up to as many lines are drawn thicker
FAINTEST = 0.005  # weakest link drawn for a single token
AT_ONCE = 10  # lines per call, which holds the GIL; fewer do not help
MAX_LINES_OF_TOKEN = 400  # drawn while the mouse moves


def of_token(
    weights: np.ndarray,
    row: int,
    column: int,
    faintest: float = FAINTEST,
    most: int = MAX_LINES_OF_TOKEN,
) -> Links:
    """The strongest links of a row or a column of float32 [S, S]."""
    own = weights[row] if row >= 0 else weights[:, column]
    others = np.flatnonzero(own >= faintest)
    others = others[np.argsort(-own[others], kind="stable")][:most]
    same = np.full(len(others), row if row >= 0 else column)
    rows, columns = (same, others) if row >= 0 else (others, same)
    return Links(rows, columns, own[others], len(others))


def name_font(height: float) -> QFont:
    """Font for rows of this height, shared by lines and matrix."""
    font = mono_font()
    largest = QFontMetricsF(font).height()
    if height < largest:
        font.setPixelSize(max(7, round(height * 0.82)))
    return font


def head_role(number: int, count: int) -> Role:
    """Colour of a chosen head; the accent if it is the only one."""
    return Role.ACCENT if count == 1 else CHART[number % len(CHART)]


def head_dashes(number: int, count: int) -> tuple[float, ...]:
    """Dashes of a chosen head, to distinguish it not by colour alone."""
    return () if count == 1 else DASHES[DASHES_OF[number % len(DASHES_OF)]]


def dashed(pen: QPen, dashes: tuple[float, ...]) -> QPen:
    if dashes:
        pen.setDashPattern(list(dashes))
    return pen


def draw(
    drawn: Sequence[Links],
    size: QSize,
    top: int,
    row_height: float,
    ratio: float,
    inks: Sequence[QColor],
    most: float = 1.0,
    is_smooth: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
) -> QImage:
    """Draw the links from `top` on as an image of `size`, with `ratio` device pixels per pixel.

    Stops early once `cancelled`.
    """
    image = QImage(size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, is_smooth)
    painter.translate(0, -top)
    seen = (top / row_height, (top + size.height()) / row_height)  # rows
    for number, (links, ink) in enumerate(zip(drawn, inks, strict=False)):
        dashes = head_dashes(number, len(inks)) if is_smooth else ()
        crossing = _crossing(links, *seen)
        paint_links(painter, crossing, size.width(), row_height, ink, most, dashes, cancelled)
    painter.end()
    return image


def _crossing(links: Links, first: float, last: float) -> Links:
    """Links of which a part is between two rows."""
    low = np.minimum(links.rows, links.columns) + 0.5 <= last
    crosses = low & (np.maximum(links.rows, links.columns) + 0.5 >= first)
    rows, columns, weights, wanted = links
    return Links(rows[crosses], columns[crosses], weights[crosses], wanted)


def paint_links(
    painter: QPainter,
    links: Links,
    width: float,
    row_height: float,
    ink: QColor,
    most: float = 1.0,
    dashes: tuple[float, ...] = (),
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Paint straight lines of this width; stronger ones are more opaque and on top.

    A weight of `most` is as opaque as `ink`. More than THICK_LINES are not dashed: dashes would not
    be visible, and would take many times as long.
    """
    if not len(links.weights):
        return
    opacity = np.clip(np.sqrt(links.weights / most), 0.04, 1.0)
    bucket = np.minimum((opacity * BUCKETS).astype(int), BUCKETS - 1)
    # thicker lines take twice as long
    thickness = 1.6 if len(links.weights) <= THICK_LINES else 1.0
    for number in range(BUCKETS):
        inside = bucket == number
        if not inside.any():
            continue
        faded = QColor(ink)
        faded.setAlphaF((number + 0.5) / BUCKETS * ink.alphaF())
        pen = QPen(faded, thickness)
        painter.setPen(dashed(pen, dashes) if len(links.weights) <= THICK_LINES else pen)
        starts = ((links.rows[inside] + 0.5) * row_height).tolist()
        stops = ((links.columns[inside] + 0.5) * row_height).tolist()
        lines = [QLineF(0, y, width, z) for y, z in zip(starts, stops, strict=True)]
        for first in range(0, len(lines), AT_ONCE):
            if cancelled():
                return
            painter.drawLines(lines[first : first + AT_ONCE])
