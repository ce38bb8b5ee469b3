"""Many curves in one drawing, with bands and marks, alike in the window and on paper.

Fifty curves of a hundred thousand points stay fluent: what is drawn are the peaks of each column of
pixels, found in levels that are made once for each curve, and the crosshair moves over a kept
picture.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyqtgraph
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme
from app.theme import CHART, DASHES, DASHES_OF, SPACE, Role
from app.timers import debounced
from app.widgets.charts.figure import Figure, Table, paper_font, print_color
from app.widgets.curve_texts import sentence
from app.widgets.keys import sideways
from app.widgets.series import Series
from app.widgets.text import numbers
from app.widgets.text.labels import font, visible

Floats = NDArray[np.float64]
Colours = Callable[[Role, float], QColor]
LEFT, BOTTOM, TOP, RIGHT = 64, 44, 8, 16  # px around the drawing
TICKS = 6
FACTOR = 16  # points of one level that are two of the next
COARSE = 0.4  # columns to a pixel while the view moves
FINE_MS = 150  # after the last move, until all is drawn with soft edges
DESCRIBED = 12  # lines that are told in words
LEGEND_LINES = 24  # lines that a legend on paper names
PAPER = QSize(680, 420)  # px


@dataclass(frozen=True)
class Line:
    """One curve over rising `x`; NaN in `y` is a gap. `low` and `high` are the ends of a band.

    `colour` and `dash` are numbers, of which each has a look of its own as far as they go.
    """

    name: str
    x: Floats
    y: Floats
    colour: int = 0
    dash: int = 0
    low: Floats | None = None
    high: Floats | None = None
    key: str = ""

    @cached_property
    def levels(self) -> list[tuple[Floats, Floats]]:
        """The points, and beside them ever fewer with the lowest and the highest of a stretch."""
        found = [(self.x, self.y)]
        while len(found[-1][0]) > 4 * FACTOR * FACTOR:
            found.append(peaks(*found[-1], FACTOR))
        return found


@dataclass(frozen=True)
class Mark:
    """A vertical line with what it means."""

    x: float
    text: str
    role: Role = Role.BAD


@dataclass(frozen=True)
class LineChart:
    """What is drawn. `whole_x` says that the x axis counts, as steps do."""

    title: str
    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    log: bool = False
    whole_x: bool = True
    marks: tuple[Mark, ...] = ()
    say: Callable[[float], str] = field(default=numbers.decimal, compare=False)


@dataclass(frozen=True)
class Span:
    """The ends of both axes; of a logarithmic one in decades."""

    left: float
    right: float
    low: float
    high: float


def peaks(x: Floats, y: Floats, factor: int) -> tuple[Floats, Floats]:
    """Of each `factor` points the lowest and the highest, in their order; NaN where all are."""
    cut = len(x) // factor * factor
    at, values = x[:cut].reshape(-1, factor), y[:cut].reshape(-1, factor)
    filled = np.where(np.isnan(values), np.inf, values)
    low = filled.argmin(axis=1)
    high = np.where(np.isnan(values), -np.inf, values).argmax(axis=1)
    rows = np.arange(len(at))
    first, second = np.minimum(low, high), np.maximum(low, high)
    new_x = np.stack([at[rows, first], at[rows, second]], axis=1).ravel()
    new_y = np.stack([values[rows, first], values[rows, second]], axis=1).ravel()
    return np.concatenate([new_x, x[cut:]]), np.concatenate([new_y, y[cut:]])


def whole_span(chart: LineChart, left: float | None = None, right: float | None = None) -> Span:
    """All of the lines, or what lies between two values of x."""
    filled = [line for line in chart.lines if len(line.x)]
    if not filled:
        return Span(0, 1, 0, 1)
    first = min(float(line.x[0]) for line in filled) if left is None else left
    last = max(float(line.x[-1]) for line in filled) if right is None else right
    seen = np.concatenate([_between(line, first, last) for line in filled])
    seen = np.log10(seen[seen > 0]) if chart.log else seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    if high <= low:
        low, high = low - abs(low) * 0.1 - 1e-9, high + abs(high) * 0.1 + 1e-9
    room = 0.05 * (high - low)
    return Span(first, last if last > first else first + 1, low - room, high + room)


def _between(line: Line, first: float, last: float) -> Floats:
    """What is seen of a line, with its band; of long lines the peaks alone."""
    if line.low is not None and line.high is not None:
        ends = slice(*np.searchsorted(line.x, [first, last]))
        return np.concatenate([line.low[ends], line.high[ends], line.y[ends]])
    x, y = line.levels[-1] if len(line.x) > 4096 else (line.x, line.y)
    start, end = np.searchsorted(x, [first, last])
    return y[start : end + 1]


def ticks(low: float, high: float, wanted: int = TICKS) -> list[float]:
    """Round numbers between the ends of an axis: 1, 2 or 5 times a power of ten apart."""
    raw = (high - low) / max(1, wanted)
    if not math.isfinite(raw) or raw <= 0:
        return []
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= raw)
    first = math.ceil(low / step)
    return [(first + n) * step for n in range(int((high - first * step) / step + 1e-9) + 1)]


# ── drawing ──────────────────────────────────────────────────────────────────────────────────


def inner(whole: QRectF) -> QRectF:
    """Where the lines are drawn, within the axes."""
    return whole.adjusted(LEFT, TOP, -RIGHT, -BOTTOM)


def paint_lines(
    painter: QPainter,
    whole: QRectF,
    chart: LineChart,
    span: Span,
    colours: Colours,
    letters: QFont,
    fine: bool = True,
) -> None:
    """Draw all of it into a rectangle; without `fine` as quickly as it can be."""
    box = inner(whole)
    painter.setFont(letters)
    _paint_axes(painter, whole, box, chart, span, colours, letters)
    painter.save()
    painter.setClipRect(box)
    for line in chart.lines:
        _paint_band(painter, box, chart, span, line, colours)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, fine and len(chart.lines) <= 60)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for line in chart.lines:
        painter.setPen(pen_of(line, colours, len(chart.lines), fine))
        _paint_line(painter, box, chart, span, line, box.width() * (1.0 if fine else COARSE))
    for mark in chart.marks:
        at = box.left() + (mark.x - span.left) / (span.right - span.left) * box.width()
        painter.setPen(QPen(colours(mark.role, 1.0), 1.5, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(at, box.top()), QPointF(at, box.bottom()))
    painter.restore()


def pen_of(line: Line, colours: Colours, lines: int = 1, fine: bool = True) -> QPen:
    """The colour and the dashes of a line; thinner where there are many."""
    place = line.colour % len(CHART)
    pen = QPen(colours(CHART[place], 1.0))
    pen.setCosmetic(True)
    pen.setWidthF((2.0 if lines <= 12 else 1.2) if fine else 1.0)
    turn = line.colour // len(CHART) + line.dash
    dashes = DASHES[(DASHES_OF[place] + turn) % len(DASHES)]
    if dashes and fine:
        pen.setDashPattern(list(dashes))
    return pen


def _paint_line(
    painter: QPainter, box: QRectF, chart: LineChart, span: Span, line: Line, columns: float
) -> None:
    x, y = _thinned(line, span, columns)
    if not len(x):
        return
    px, py = _x(box, span, x), _y(box, span, y, chart.log)
    if len(px) == 1:
        painter.drawEllipse(QPointF(px[0], py[0]), 2.5, 2.5)
        return
    painter.drawPath(pyqtgraph.functions.arrayToQPath(px, py, connect="finite"))


def _thinned(line: Line, span: Span, columns: float) -> tuple[Floats, Floats]:
    """The points between the ends of the axis and one beyond each; about two for each column."""
    for x, y in reversed(line.levels):
        start, end = np.searchsorted(x, [span.left, span.right])
        start, end = max(0, int(start) - 1), min(len(x), int(end) + 1)
        is_last = len(x) == len(line.x)
        if end - start >= 2 * columns or is_last:
            found = x[start:end], y[start:end]
            factor = (end - start) // max(1, int(columns))
            return peaks(*found, factor) if factor > 2 else found
    return line.x, line.y


def _paint_band(
    painter: QPainter, box: QRectF, chart: LineChart, span: Span, line: Line, colours: Colours
) -> None:
    if line.low is None or line.high is None:
        return
    there = np.isfinite(line.low) & np.isfinite(line.high)
    if chart.log:
        there &= (line.low > 0) & (line.high > 0)
    x = _x(box, span, line.x[there])
    low, high = (_y(box, span, side[there], chart.log) for side in (line.low, line.high))
    around = [QPointF(*p) for p in zip(x.tolist(), high.tolist(), strict=True)]
    around += [QPointF(*p) for p in zip(x[::-1].tolist(), low[::-1].tolist(), strict=True)]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colours(CHART[line.colour % len(CHART)], 0.18))
    painter.drawPolygon(QPolygonF(around))


def _paint_axes(
    painter: QPainter,
    whole: QRectF,
    box: QRectF,
    chart: LineChart,
    span: Span,
    colours: Colours,
    letters: QFont,
) -> None:
    high = QFontMetricsF(letters).height()
    centre = Qt.AlignmentFlag.AlignCenter
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for value in ticks(span.low, span.high):
        y = box.bottom() - (value - span.low) / (span.high - span.low) * box.height()
        painter.setPen(QPen(colours(Role.BORDER, 1.0), 1))
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        painter.setPen(colours(Role.MUTED, 1.0))
        said = _tick(10**value if chart.log else value)
        painter.drawText(QRectF(box.left() - 54, y - high / 2, 48, high), right, said)
    for value in ticks(span.left, span.right, min(TICKS, int(box.width() / 90) + 1)):
        if chart.whole_x and not float(value).is_integer():
            continue
        x = box.left() + (value - span.left) / (span.right - span.left) * box.width()
        said = numbers.count(round(value)) if chart.whole_x else _tick(value)
        painter.drawText(QRectF(x - 40, box.bottom() + 3, 80, high), centre, said)
    below = QRectF(box.left(), box.bottom() + high + 4, box.width(), high)
    painter.drawText(below, centre, chart.x_title)
    painter.save()
    painter.translate(whole.left(), box.bottom())
    painter.rotate(-90)
    painter.drawText(QRectF(0, -2, box.height(), high), centre, chart.y_title)
    painter.restore()


def _tick(value: float) -> str:
    """As short as it is read: 0.25, 3e-5, 12 k."""
    if value and abs(value) < 1e-3:
        return f"{value:.2g}".replace("e-0", "e-")
    if abs(value) >= 10_000:
        return numbers.short(value)
    return f"{value:.4g}"


def _x(box: QRectF, span: Span, x: Floats) -> Floats:
    return np.asarray(box.left() + (x - span.left) / (span.right - span.left) * box.width())


def _y(box: QRectF, span: Span, y: Floats, log: bool) -> Floats:
    if log:
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.where(y > 0, np.log10(y), np.nan)
    far = 20 * (span.high - span.low)
    y = np.clip(y, span.low - far, span.high + far)
    return np.asarray(box.bottom() - (y - span.low) / (span.high - span.low) * box.height())


def _few(line: Line) -> tuple[list[float], list[float | None]]:
    """The points of a line, of a long one its peaks, for what is told in words."""
    x, y = line.levels[-1]
    rising = np.concatenate([[True], np.diff(x) > 0]) if len(x) else np.zeros(0, dtype=bool)
    return x[rising].tolist(), y[rising].tolist()


# ── on paper ─────────────────────────────────────────────────────────────────────────────────


def figure_of_lines(name: str, caption: str, chart: LineChart, span: Span | None = None) -> Figure:
    """A chart as a figure, with its legend below, and its points as a table."""
    shown = span or whole_span(chart)
    named = [line for line in chart.lines if line.name][:LEGEND_LINES]
    legend = 18 * math.ceil(len(named) / 2) + (18 if len(chart.lines) > LEGEND_LINES else 0)

    def draw(painter: QPainter, size: QSizeF) -> None:
        drawing = QRectF(0, 0, size.width(), size.height() - legend)
        paint_lines(painter, drawing, chart, shown, print_color, paper_font(12))
        _paint_legend(painter, drawing.bottom(), size.width(), named, chart)

    def table() -> Table:
        return Table(
            ("series", chart.x_title, chart.y_title, "low", "high"),
            [row for line in chart.lines for row in _rows(line)],
        )

    size = QSize(PAPER.width(), PAPER.height() + legend)
    return Figure(name, chart.title, caption, size, draw, table=table)


def _rows(line: Line) -> list[tuple[object, ...]]:
    nothing = [""] * len(line.x)
    low = nothing if line.low is None else line.low.tolist()
    high = nothing if line.high is None else line.high.tolist()
    numbers_ = zip(line.x.tolist(), line.y.tolist(), low, high, strict=True)
    return [(line.name, *row) for row in numbers_]


def _paint_legend(
    painter: QPainter, top: float, width: float, named: Sequence[Line], chart: LineChart
) -> None:
    painter.setFont(paper_font(11))
    metrics = QFontMetricsF(painter.font())
    left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
    for number, line in enumerate(named):
        x = (number % 2) * width / 2 + 8
        y = top + 18 * (number // 2) + 9
        painter.setPen(pen_of(line, print_color))
        painter.drawLine(QPointF(x, y), QPointF(x + 26, y))
        painter.setPen(print_color(Role.TEXT))
        room = width / 2 - 48
        name = metrics.elidedText(visible(line.name), Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(QRectF(x + 32, y - 9, room, 18), left, name)
    if len(chart.lines) > len(named):
        rest = f"+ {len(chart.lines) - len(named)}"
        y = top + 18 * math.ceil(len(named) / 2)
        painter.drawText(QRectF(8, y, width, 18), left, rest)


# ── in the window ────────────────────────────────────────────────────────────────────────────


class LinesView(QWidget):
    """Drag to zoom, double-click to reset, turn the wheel over a place, arrow keys to read.

    Signals:
        pointed: the key of the line that is nearest to the mouse, or “”; and what it says there.
    """

    pointed = Signal(str, str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.chart: LineChart | None = None
        self.span = Span(0, 1, 0, 1)
        self._picture: QPixmap | None = None
        self._cross: QPointF | None = None
        self._pressed: float | None = None
        self._moved = 0.0
        self._fine = debounced(self, FINE_MS, self._paint_fine)
        self._coarse = False
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(120 * SPACE, 70 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(60 * SPACE, 40 * SPACE)

    def show_chart(self, chart: LineChart) -> None:
        """Show this; a zoom ends where the lines have another x axis."""
        same = self.chart is not None and self.chart.x_title == chart.x_title
        before, self.chart = self.span, chart
        whole = whole_span(chart)
        zoomed = same and self._is_zoomed
        self.span = whole_span(chart, before.left, before.right) if zoomed else whole
        self._is_zoomed = zoomed
        self._describe()
        self._forget()

    _is_zoomed = False

    def zoom(self, left: float, right: float) -> None:
        """Show what lies between two values of x."""
        if self.chart is not None and right > left:
            self.span = whole_span(self.chart, left, right)
            self._is_zoomed = True
            self._coarse = True
            self._fine.start()
            self._forget()

    def reset(self) -> None:
        """Show all of it."""
        if self.chart is not None:
            self.span, self._is_zoomed = whole_span(self.chart), False
            self._forget()

    def read_at(self, x: float) -> str:
        """What every line says at `x`, for the first few."""
        if self.chart is None:
            return ""
        said = []
        for line in self.chart.lines[:DESCRIBED]:
            place = int(np.searchsorted(line.x, x, side="right")) - 1
            if place >= 0 and np.isfinite(line.y[place]):
                said.append(f"{line.name} {self.chart.say(float(line.y[place]))}")
        return " · ".join(said)

    def _describe(self) -> None:
        assert self.chart is not None
        lines = self.chart.lines[:DESCRIBED]
        series = ((line.name, Series(*_few(line))) for line in lines)
        said = [sentence(name, each, self.chart.say) for name, each in series]
        self.setAccessibleDescription(". ".join(said))

    def _forget(self) -> None:
        self._picture = None
        self.update()

    def _paint_fine(self) -> None:
        self._coarse = False
        self._forget()

    # ── what comes in ────────────────────────────────────────────────────────────────────────

    def _value_at(self, at: float) -> float:
        box = inner(QRectF(self.rect()))
        share = min(1.0, max(0.0, (at - box.left()) / max(1.0, box.width())))
        return self.span.left + share * (self.span.right - self.span.left)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._moved = event.position().x()
        self._cross = event.position()
        self._point(event.position())
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        start, self._pressed = self._pressed, None
        if start is not None and abs(event.position().x() - start) > 6:
            ends = sorted((self._value_at(start), self._value_at(event.position().x())))
            self.zoom(*ends)
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.reset()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y()
        if self.chart is None or not turned:
            return
        at = self._value_at(event.position().x())
        factor = 0.8 if turned > 0 else 1.25
        whole = whole_span(self.chart)
        left = max(whole.left, at - (at - self.span.left) * factor)
        right = min(whole.right, at + (self.span.right - at) * factor)
        if (left, right) == (whole.left, whole.right):
            self.reset()
        else:
            self.zoom(left, right)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = sideways(event)
        if event.key() == Qt.Key.Key_Escape and (self._cross is not None or self._is_zoomed):
            self._cross = None
            self.reset()
        elif move and self.chart is not None:
            box = inner(QRectF(self.rect()))
            before = self._cross.x() if self._cross is not None else box.left()
            x = min(box.right(), max(box.left(), before + move * box.width() / 50))
            self._cross = QPointF(x, box.center().y())
            self.pointed.emit("", self.read_at(self._value_at(x)))
            self.update()
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: object) -> None:
        self._cross = None
        self.pointed.emit("", "")
        self.update()

    def _point(self, at: QPointF) -> None:
        """Tell which line is nearest to the mouse."""
        if self.chart is None:
            return
        box, x = inner(QRectF(self.rect())), self._value_at(at.x())
        nearest, distance, said = "", 24.0, ""
        for line in self.chart.lines:
            place = int(np.searchsorted(line.x, x, side="right")) - 1
            if place < 0 or not np.isfinite(line.y[place]):
                continue
            y = float(_y(box, self.span, line.y[place : place + 1], self.chart.log)[0])
            if abs(y - at.y()) < distance:
                nearest, distance = line.key or line.name, abs(y - at.y())
                at_x = numbers.count(round(x)) if self.chart.whole_x else _tick(x)
                said = f"{line.name}: {self.chart.say(float(line.y[place]))} ({at_x})"
        self.pointed.emit(nearest, said)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._forget()

    def changeEvent(self, event: object) -> None:
        super().changeEvent(event)  # type: ignore[arg-type]
        self._forget()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.chart is None:
            return
        if self._picture is None:
            self._picture = self._drawn(self.chart)
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        box = inner(QRectF(self.rect()))
        if self._pressed is not None:
            band = QRectF(self._pressed, box.top(), self._moved - self._pressed, box.height())
            painter.fillRect(band, theme.colour(Role.ACCENT, 0.15))
        if self._cross is not None and box.contains(self._cross):
            painter.setPen(QPen(theme.colour(Role.MUTED), 1, Qt.PenStyle.DashLine))
            x = self._cross.x()
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        if self.hasFocus():
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1))
            painter.drawRect(box)
        painter.end()

    def _drawn(self, chart: LineChart) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(round(self.width() * ratio), round(self.height() * ratio))
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        whole = QRectF(self.rect())
        fine = not self._coarse or len(chart.lines) <= 8
        paint_lines(painter, whole, chart, self.span, theme.colour, font("small"), fine)
        painter.end()
        return picture
