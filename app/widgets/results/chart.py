"""A small chart that is drawn alike on the window and on paper: lines, points, bars, zones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE, Role, colour
from app.widgets.keys import presses, sideways, within
from app.widgets.text.labels import font
from engine.results.conditions import Conditions

LEFT, BOTTOM, TOP, RIGHT = 56, 40, 8, 24  # px around the drawing
TICKS = (5, 3, 2)  # along an axis: as many as have room
POINT = 2.0  # px
Floats = NDArray[np.float64] | NDArray[np.float32]


@dataclass(frozen=True)
class Series:
    """Numbers over numbers. `kind` is “line”, “points” or “bars”; `widths` are those of bars."""

    kind: str
    x: Floats
    y: Floats
    role: Role = Role.CHART_1
    low: Floats | None = None  # ends of intervals
    high: Floats | None = None
    widths: Floats | None = None
    dashed: bool = False
    name: str = ""  # for the legend; a series without one has no place in it


@dataclass(frozen=True)
class Zone:
    """A stretch of the x axis that selects rows, and what it says."""

    low: float
    high: float
    conditions: Conditions
    sentence: str


@dataclass(frozen=True)
class Chart:
    """What is drawn. Ranges are the ends of the axes."""

    x_title: str
    y_title: str
    x: tuple[float, float]
    y: tuple[float, float]
    series: tuple[Series, ...]
    zones: tuple[Zone, ...] = ()
    tick: Callable[[float], str] = field(default=lambda value: f"{value:.3g}", compare=False)


class ChartView(QWidget):
    """A chart whose zones, or whose threshold, are moved by mouse and arrow keys.

    Signals:
        pressed: the number of a zone.
        moved: where the line of the threshold was put, on the x axis.
    """

    pressed = Signal(int)
    moved = Signal(float)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.chart: Chart | None = None
        self.current = 0
        self.marked = -1
        self.line: float | None = None  # the threshold; None: there are zones instead
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 60 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(50 * SPACE, 30 * SPACE)

    def show_chart(self, chart: Chart) -> None:
        self.chart = chart
        self.current, self.marked = 0, -1
        self._say()
        self.update()

    def mark(self, number: int) -> None:
        """Frame a zone; -1: none."""
        self.marked = number
        self.update()

    def set_line(self, value: float | None) -> None:
        self.line = value
        self.update()

    def _say(self) -> None:
        if self.chart is not None and self.chart.zones:
            self.setAccessibleDescription(self.chart.zones[self.current].sentence)

    def _value_at(self, x: float) -> float:
        assert self.chart is not None
        box = inner(QRectF(self.rect()))
        low, high = self.chart.x
        share = (x - box.left()) / max(1.0, box.width())
        return float(low + min(1.0, max(0.0, share)) * (high - low))

    def _zone_at(self, x: float) -> int:
        assert self.chart is not None
        value = self._value_at(x)
        zones = self.chart.zones
        return next((n for n, zone in enumerate(zones) if zone.low <= value <= zone.high), -1)

    # ── what comes in ────────────────────────────────────────────────────────────────────────

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.chart is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if self.line is not None:
            self.moved.emit(self._value_at(event.position().x()))
        elif (zone := self._zone_at(event.position().x())) >= 0:
            self.current = zone
            self._say()
            self.pressed.emit(zone)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.chart is None:
            return
        if self.line is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self.moved.emit(self._value_at(event.position().x()))
        elif self.line is None and (zone := self._zone_at(event.position().x())) >= 0:
            self.setToolTip(self.chart.zones[zone].sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = sideways(event)
        enters = presses(event)
        if self.chart is None or not (step or enters):
            super().keyPressEvent(event)
        elif self.line is not None and step:
            low, high = self.chart.x
            wanted = self.line + step * (high - low) / 100
            self.moved.emit(min(high, max(low, wanted)))
        elif self.chart.zones and step:
            self.current = within(self.current + step, len(self.chart.zones) - 1)
            self._say()
            self.update()
        elif self.chart.zones and enters:
            self.pressed.emit(self.current)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.chart is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        whole = QRectF(self.rect())
        paint(painter, whole, self.chart, colour, font("small"))
        box = inner(whole)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for number, role, shown in (
            (self.marked, Role.TEXT, self.marked >= 0),
            (self.current, Role.ACCENT, self.hasFocus() and bool(self.chart.zones)),
        ):
            if shown:
                zone = self.chart.zones[number]
                left, right = (_x(self.chart, box, value) for value in (zone.low, zone.high))
                painter.setPen(QPen(colour(role), 2))
                painter.drawRect(QRectF(left, box.top(), right - left, box.height()))
        if self.line is not None:
            x = _x(self.chart, box, self.line)
            painter.setPen(QPen(colour(Role.ACCENT if self.hasFocus() else Role.TEXT), 2))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))


Colours = Callable[[Role, float], QColor]


def inner(whole: QRectF) -> QRectF:
    """Where the numbers are drawn, within the axes."""
    return whole.adjusted(LEFT, TOP, -RIGHT, -BOTTOM)


def paint(painter: QPainter, whole: QRectF, chart: Chart, colours: Colours, letters: QFont) -> None:
    """Draw all of it into a rectangle, in the colours of the window or of paper."""
    box = inner(whole)
    painter.setFont(letters)
    _paint_axes(painter, whole, box, chart, colours, letters)
    painter.save()
    painter.setClipRect(box.adjusted(-2, -2, 2, 2))
    for one in chart.series:
        _paint_series(painter, box, chart, one, colours)
    painter.restore()
    _paint_legend(painter, box, chart, colours, letters)


def _paint_legend(
    painter: QPainter, box: QRectF, chart: Chart, colours: Colours, letters: QFont
) -> None:
    """The names of the series below one another, each after a piece of its line."""
    named = [one for one in chart.series if one.name]
    metrics = QFontMetricsF(letters)
    high = metrics.height() + 2
    widest = max((metrics.horizontalAdvance(one.name) for one in named), default=0.0)
    left = box.left() + 12
    for number, one in enumerate(named):
        top = box.bottom() - (len(named) - number) * high - 4
        painter.setPen(QPen(colours(one.role, 1.0), 2))
        painter.drawLine(QPointF(left, top + high / 2), QPointF(left + 16, top + high / 2))
        painter.setPen(colours(Role.TEXT, 1.0))
        place = QRectF(left + 22, top, widest + 4, high)
        painter.drawText(
            place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, one.name
        )


def _paint_axes(
    painter: QPainter,
    whole: QRectF,
    box: QRectF,
    chart: Chart,
    colours: Colours,
    letters: QFont,
) -> None:
    metrics = QFontMetricsF(letters)
    high = metrics.height()
    centre = Qt.AlignmentFlag.AlignCenter
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for share, value in _ticks(chart.y, box.height(), lambda _: high):
        y = box.bottom() - share * box.height()
        painter.setPen(QPen(colours(Role.BORDER, 1.0), 1))
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        painter.setPen(colours(Role.MUTED, 1.0))
        painter.drawText(QRectF(box.left() - 40, y - high / 2, 36, high), right, chart.tick(value))
    for share, value in _ticks(
        chart.x, box.width(), lambda value: metrics.horizontalAdvance(chart.tick(value)) + 8
    ):
        x = box.left() + share * box.width()
        painter.drawText(QRectF(x - 30, box.bottom() + 2, 60, high), centre, chart.tick(value))
    below = QRectF(box.left(), box.bottom() + high + 2, box.width(), high)
    painter.drawText(below, centre, chart.x_title)
    painter.save()
    painter.translate(whole.left(), whole.bottom() - high)
    painter.rotate(-90)
    long = whole.height() - high  # beside the axis, and above it and below where there is room
    cut = metrics.elidedText(chart.y_title, Qt.TextElideMode.ElideRight, long)
    middle = whole.bottom() - high - box.center().y()  # of the axis, from the lower end
    half = min(middle, long - middle)
    fits = metrics.horizontalAdvance(cut) <= 2 * half
    place = QRectF(middle - half, -2, 2 * half, high) if fits else QRectF(0, -2, long, high)
    painter.drawText(place, centre, cut)
    painter.restore()


def _ticks(
    ends: tuple[float, float], size: float, needed: Callable[[float], float]
) -> list[tuple[float, float]]:
    """As many values as fit along an axis, each with its share of the way.

    Args:
        size: of the axis, in pixels.
        needed: how many of them the label of a value needs.
    """
    every = [[place / (count - 1) for place in range(count)] for count in TICKS]
    found = [[(share, ends[0] + share * (ends[1] - ends[0])) for share in one] for one in every]
    fits = (one for one in found if max(needed(v) for _, v in one) * (len(one) - 1) <= size)
    return next(fits, found[-1])


def _paint_series(
    painter: QPainter, box: QRectF, chart: Chart, one: Series, colours: Colours
) -> None:
    pen = QPen(colours(one.role, 1.0), 2)
    if one.dashed:
        pen.setStyle(Qt.PenStyle.DashLine)
        pen.setWidthF(1)
    spots = [QPointF(_x(chart, box, x), _y(chart, box, y)) for x, y in _pairs(one)]
    if one.kind == "line":
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(spots))
        return
    painter.setPen(Qt.PenStyle.NoPen)
    if one.kind == "points":
        painter.setBrush(colours(one.role, 0.4))
        for spot in spots:
            painter.drawEllipse(spot, POINT, POINT)
        return
    painter.setBrush(colours(one.role, 0.6))
    assert one.widths is not None
    for spot, x, width in zip(spots, one.x, one.widths, strict=True):
        left, right = (_x(chart, box, float(x) + side * float(width) / 2) for side in (-1, 1))
        painter.drawRect(QRectF(left + 1, spot.y(), right - left - 2, box.bottom() - spot.y()))
    if one.low is not None and one.high is not None:
        painter.setPen(QPen(colours(Role.TEXT, 1.0), 1))
        for x, low, high in zip(one.x, one.low, one.high, strict=True):
            at = _x(chart, box, float(x))
            ends = (_y(chart, box, float(low)), _y(chart, box, float(high)))
            painter.drawLine(QPointF(at, ends[0]), QPointF(at, ends[1]))


def _pairs(one: Series) -> Sequence[tuple[float, float]]:
    there = np.isfinite(one.x) & np.isfinite(one.y)
    return [(float(x), float(y)) for x, y in zip(one.x[there], one.y[there], strict=True)]


def _x(chart: Chart, box: QRectF, value: float) -> float:
    low, high = chart.x
    return box.left() + (value - low) / ((high - low) or 1.0) * box.width()


def _y(chart: Chart, box: QRectF, value: float) -> float:
    low, high = chart.y
    return box.bottom() - (value - low) / ((high - low) or 1.0) * box.height()
