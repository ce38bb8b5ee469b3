"""Figures with the ends of their intervals in rows over one scale, on screen and for export."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE, Palette, Role, colour, print_color, px, text_scale
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.text.labels import font, one_line
from engine.results.intervals import Interval

ROW, AXIS, APART = 6 * SPACE, 6 * SPACE, 2 * SPACE  # px: a row, the scale, a gap above a row
MAX_CHARACTERS = 60  # of a label
MAX_LABEL = 0.35  # of the width
TICKS = 5  # at most about
DIAMOND = 7  # px: half the diagonal of the mark of a true value
FIGURE_WIDTH = 640  # px


@dataclass(frozen=True)
class Mark:
    """One row: a figure with its interval, another one as a lighter mark, and the true value."""

    label: str
    interval: Interval
    other: float = math.nan
    apart: bool = False  # a gap above
    truth: float = math.nan


class IntervalsView(QWidget):
    """Points with intervals, and lighter marks."""

    def __init__(self, name: str, number_text: Callable[[float], str]) -> None:
        super().__init__()
        self.marks: tuple[Mark, ...] = ()
        self.number_text = number_text
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_marks(self, marks: Sequence[Mark], number_text: Callable[[float], str]) -> None:
        self.marks, self.number_text = tuple(marks), number_text
        self.setAccessibleDescription(", ".join(map(self._description, self.marks)))
        self.updateGeometry()
        self.update()

    def _description(self, mark: Mark) -> str:
        text = f"{one_line(mark.label, MAX_CHARACTERS)} {self.number_text(mark.interval.value)}"
        return text if math.isnan(mark.truth) else f"{text} ({self.number_text(mark.truth)})"

    def sizeHint(self) -> QSize:
        return QSize(px(80 * SPACE), px(marks_height(self.marks)))

    def minimumSizeHint(self) -> QSize:
        return QSize(50 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(text_scale(), text_scale())
        fonts = font(), font("small")
        for font_ in fonts:
            font_.setPointSizeF(font_.pointSizeF() / text_scale())
        width = self.width() / text_scale()
        paint_marks(painter, self.marks, width, self.number_text, colour, fonts)


def marks_height(marks: Sequence[Mark]) -> int:
    """Height in px that `paint_marks` needs."""
    return len(marks) * ROW + APART * sum(mark.apart for mark in marks) + AXIS


def scale_ticks(marks: Sequence[Mark]) -> list[float]:
    """Round numbers from below the lowest to above the highest end; none without figures."""
    ends = (value for mark in marks for value in (*mark.interval, mark.other, mark.truth))
    known = [value for value in ends if not math.isnan(value)]
    if not known:
        return []
    low, high = min(known), max(known)
    span = high - low or abs(high) or 1.0
    power = 10 ** math.floor(math.log10(span / TICKS))
    step = next(power * n for n in (1, 2, 5, 10) if power * n * TICKS >= span)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(n * step, 12) for n in range(first, max(last, first + 1) + 1)]


def paint_marks(
    painter: QPainter,
    marks: Sequence[Mark],
    width: float,
    number_text: Callable[[float], str],
    palette: Palette,
    fonts: tuple[QFont, QFont],
) -> None:
    """Paint the scale and the rows below; `fonts` are of the labels and of the scale."""
    ticks = scale_ticks(marks)
    if not ticks:
        return
    metrics = QFontMetricsF(fonts[0])
    labels = [one_line(mark.label, MAX_CHARACTERS) for mark in marks]
    label_width = min(max(map(metrics.horizontalAdvance, labels)) + 1, width * MAX_LABEL)
    left, right = label_width + 4 * SPACE, width - 6 * SPACE
    bottom = marks_height(marks)

    def x(value: float) -> float:
        return left + (right - left) * (value - ticks[0]) / (ticks[-1] - ticks[0])

    painter.setFont(fonts[1])
    for tick in ticks:
        is_zero = tick == 0 and ticks[0] < 0
        painter.setPen(QPen(palette(Role.EDGE if is_zero else Role.BORDER, 1.0), 1))
        painter.drawLine(QPointF(x(tick), AXIS), QPointF(x(tick), bottom))
        painter.setPen(palette(Role.MUTED, 1.0))
        box = QRectF(x(tick) - 12 * SPACE, SPACE, 24 * SPACE, AXIS)
        top = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter
        painter.drawText(box, top, number_text(tick))
    y = float(AXIS)
    for mark, label in zip(marks, labels, strict=True):
        y += APART if mark.apart else 0
        middle = y + ROW / 2
        painter.setFont(fonts[0])
        painter.setPen(palette(Role.TEXT, 1.0))
        shown = metrics.elidedText(label, Qt.TextElideMode.ElideMiddle, label_width + 1)
        painter.drawText(QRectF(0, y, left, ROW), Qt.AlignmentFlag.AlignVCenter, shown)
        _paint_mark(painter, mark, middle, x, palette)
        y += ROW


def _paint_mark(
    painter: QPainter, mark: Mark, y: float, x: Callable[[float], float], palette: Palette
) -> None:
    if not math.isnan(mark.other):
        painter.setPen(QPen(palette(Role.MUTED, 1.0), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QPointF(x(mark.other), y), 4, 4)
    value, low, high = mark.interval
    if not math.isnan(low):
        painter.setPen(QPen(palette(Role.CHART_1, 1.0), 2))
        painter.drawLine(QPointF(x(low), y), QPointF(x(high), y))
        for end in (low, high):
            painter.drawLine(QPointF(x(end), y - 4), QPointF(x(end), y + 4))
    if not math.isnan(value):
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette(Role.CHART_1, 1.0))
        painter.drawEllipse(QPointF(x(value), y), 4.5, 4.5)
    if not math.isnan(mark.truth):
        painter.setPen(QPen(palette(Role.TEXT, 1.0), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        centre, corners = x(mark.truth), ((0, -DIAMOND), (DIAMOND, 0), (0, DIAMOND), (-DIAMOND, 0))
        painter.drawPolygon([QPointF(centre + dx, y + dy) for dx, dy in corners])


def intervals_figure(
    view: IntervalsView, name: str, title: str, caption: str, table: Callable[[], Table]
) -> Figure:
    """The picture of a view for export."""
    marks, number_text = view.marks, view.number_text
    fonts = print_font(12), print_font(10)

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_marks(painter, marks, size.width(), number_text, print_color, fonts)

    size = QSize(FIGURE_WIDTH, marks_height(marks))
    return Figure(name=name, title=title, caption=caption, size=size, paint=paint, table=table)
