"""The painter of charts, for the window and for paper, and charts as figures."""

from collections.abc import Iterator, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from app.theme import CHART, Palette, Role, chart_pen, print_color
from app.widgets.charts.chart import Bars, Chart, Floats, Line, Marker, Points, Series, Span
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.text.labels import visible

LEFT, TOP, RIGHT = 64, 8, 24  # px around the drawing, at least
COARSE = 0.4  # columns of a line to a pixel while the view moves
MANY_LINES = 12  # from which lines are thinner
LEGEND_SYMBOL, LEGEND_ENTRIES = 26, 24  # px of a line or point; series that are named
SHAPES = ("circle", "square", "diamond", "triangle")  # with the colour, for colour-blind eyes
MARKER_STYLES = {Role.BAD: Qt.PenStyle.DotLine, Role.WARN: Qt.PenStyle.DashDotLine}
PAPER = QSize(680, 420)  # px
CENTRE = Qt.AlignmentFlag.AlignCenter
AT_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
AT_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


class Frame:
    """The place of a chart in a rectangle: the box within the axes, and values as pixels."""

    def __init__(
        self,
        whole: QRectF,
        chart: Chart,
        font: QFont,
        span: Span | None = None,
        legend: bool = True,
    ) -> None:
        self.whole, self.chart, self.metrics = whole, chart, QFontMetricsF(font)
        self.span = span or chart.span()
        high = self.line = self.metrics.height()
        self.legend = legend_rows(chart, whole.width(), self.metrics) if legend else []
        below = high * (1 + bool(chart.x.title)) + 8 + len(self.legend) * (high + 4)
        above = high + 4 if any(marker.label for marker in chart.markers) else TOP
        bottom = whole.bottom() - below
        count = min(6, int((bottom - whole.top() - above) / (1.6 * high)))
        self.y_ticks = chart.y.ticks(self.span.low, self.span.high, max(1, count))
        widths = [self.metrics.horizontalAdvance(chart.y.label(at)) for at in self.y_ticks]
        left = 1.0 if chart.y.hidden else max(LEFT, max(widths, default=0.0) + high + 12)
        right = 1.0 if chart.y.hidden else RIGHT
        self.box = QRectF(
            QPointF(whole.left() + left, whole.top() + above),
            QPointF(whole.right() - right, bottom),
        )
        self.x_ticks = self._x_ticks()

    def _x_ticks(self) -> list[float]:
        axis, span, ticks = self.chart.x, self.span, list[float]()
        for count in range(min(6, int(self.box.width() / 40)), 0, -1):
            ticks = axis.ticks(span.left, span.right, count)
            widths = [self.metrics.horizontalAdvance(axis.label(at)) + 12 for at in ticks]
            if max(widths, default=0.0) * (len(ticks) - 1) <= self.box.width():
                break
        return ticks

    def x(self, values: Floats | float) -> Floats:
        fractions = (values - self.span.left) / (self.span.right - self.span.left)
        return np.asarray(self.box.left() + fractions * self.box.width())

    def y(self, values: Floats) -> Floats:
        """Pixels of values; those far outside of the view are clipped, since Qt takes seconds to
        stroke a line that long."""
        if self.chart.y.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(values > 0, np.log10(values), np.nan)
        low, high = self.span.low, self.span.high
        far = 20 * (high - low)
        fractions = (np.clip(values, low - far, high + far) - low) / (high - low)
        return np.asarray(self.box.bottom() - fractions * self.box.height())

    def x_at(self, value: float) -> float:
        return float(self.x(value))

    def value_at(self, x: float) -> float:
        """The value of x under a pixel, within the view."""
        fraction = min(1.0, max(0.0, (x - self.box.left()) / max(1.0, self.box.width())))
        return self.span.left + fraction * (self.span.right - self.span.left)


def paint(
    painter: QPainter, frame: Frame, palette: Palette, font: QFont, fine: bool = True
) -> None:
    """Paint a chart into its frame; without `fine` as quickly as possible."""
    chart = frame.chart
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(font)
    _paint_axes(painter, frame, palette)
    painter.save()
    painter.setClipRect(frame.box.adjusted(-2, -2, 2, 2))
    for line in chart.lines:
        _paint_band(painter, frame, line, palette)
    smooth = fine and len(chart.lines) <= 60
    for item in sorted(chart.series, key=lambda part: not (isinstance(part, Line) and part.faint)):
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, smooth)
        if isinstance(item, Line):
            painter.setPen(line_pen(item, palette, len(chart.lines), fine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            _paint_line(painter, frame, item, fine, palette)
        elif isinstance(item, Points):
            painter.setPen(Qt.PenStyle.NoPen)
            _paint_points(painter, frame, item, palette)
        elif isinstance(item, Bars):
            _paint_bars(painter, frame, item, palette)
    painter.restore()
    for marker in chart.markers:
        _paint_marker(painter, frame, marker, palette)
    _paint_legend(painter, frame, palette)


def line_pen(line: Line, palette: Palette, lines: int = 1, fine: bool = True) -> QPen:
    """The pen of a line; thinner if there are many, pale if it is faint."""
    if line.role is not None:
        return QPen(palette(line.role, 1.0), 1, Qt.PenStyle.DashLine)
    width = (2.0 if lines <= MANY_LINES else 1.2) if fine and not line.faint else 1.0
    pen = chart_pen(line.color, width, line.dash, palette, fine)
    if line.faint:
        color = pen.color()
        color.setAlphaF(0.28)
        pen.setColor(color)
    return pen


def marker_pen(marker: Marker, palette: Palette) -> QPen:
    pen = QPen(palette(marker.role, 1.0), 1.5)
    pen.setStyle(MARKER_STYLES.get(marker.role, Qt.PenStyle.DashLine))
    pen.setCosmetic(True)
    return pen


def _paint_axes(painter: QPainter, frame: Frame, palette: Palette) -> None:
    chart, box, high = frame.chart, frame.box, frame.line
    for at in frame.y_ticks:
        fraction = (at - frame.span.low) / (frame.span.high - frame.span.low)
        y = box.bottom() - fraction * box.height()
        painter.setPen(QPen(palette(Role.BORDER, 1.0), 1))
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        painter.setPen(palette(Role.MUTED, 1.0))
        label = QRectF(frame.whole.left(), y - high / 2, box.left() - frame.whole.left() - 6, high)
        painter.drawText(label, AT_RIGHT, chart.y.label(at))
    if chart.y.hidden:
        painter.setPen(QPen(palette(Role.EDGE, 1.0), 1))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
    painter.setPen(palette(Role.MUTED, 1.0))
    for at in frame.x_ticks:
        text = chart.x.label(at)
        wide = frame.metrics.horizontalAdvance(text) + 4
        left = min(frame.x_at(at) - wide / 2, frame.whole.right() - wide)
        left = max(left, frame.whole.left())
        painter.drawText(QRectF(left, box.bottom() + 3, wide, high), CENTRE, text)
    if chart.x.title:
        below = QRectF(box.left(), box.bottom() + high + 4, box.width(), high)
        painter.drawText(below, CENTRE, chart.x.title)
    if chart.y.title and not chart.y.hidden:
        _paint_y_title(painter, frame)


def _paint_y_title(painter: QPainter, frame: Frame) -> None:
    """Upright, centred on the axis if it fits there, else over the whole height."""
    box, high = frame.box, frame.line
    long = box.bottom() + high - frame.whole.top()
    title = frame.metrics.elidedText(frame.chart.y.title, Qt.TextElideMode.ElideRight, long)
    middle = box.bottom() + high - box.center().y()  # of the axis, from the lower end
    half = min(middle, long - middle)
    fits = frame.metrics.horizontalAdvance(title) <= 2 * half
    painter.save()
    painter.translate(frame.whole.left(), box.bottom() + high)
    painter.rotate(-90)
    room = QRectF(middle - half, -2, 2 * half, high) if fits else QRectF(0, -2, long, high)
    painter.drawText(room, CENTRE, title)
    painter.restore()


def _paint_line(painter: QPainter, frame: Frame, line: Line, fine: bool, palette: Palette) -> None:
    columns = frame.box.width() * (1.0 if fine else COARSE)
    x, y = line.thinned(frame.span.left, frame.span.right, columns)
    if not len(x):
        return
    px, py = frame.x(x), frame.y(y)
    if len(px) > 1:
        from pyqtgraph.functions import arrayToQPath  # takes long to import

        painter.drawPath(arrayToQPath(px, py, connect="finite"))
    if line.dots or len(px) == 1:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(_color(line, palette))
        for at_x, at_y in _finite(px, py):
            painter.drawEllipse(QPointF(at_x, at_y), 2.5, 2.5)


def _paint_band(painter: QPainter, frame: Frame, line: Line, palette: Palette) -> None:
    if line.low is None or line.high is None:
        return
    x, low, high = frame.x(line.x), frame.y(line.low), frame.y(line.high)
    known = np.isfinite(low) & np.isfinite(high)
    upper = list(zip(x[known].tolist(), high[known].tolist(), strict=True))
    lower = list(zip(x[known].tolist(), low[known].tolist(), strict=True))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette(CHART[line.color % len(CHART)], 0.18))
    painter.drawPolygon(QPolygonF([QPointF(*point) for point in [*upper, *reversed(lower)]]))


def _paint_points(painter: QPainter, frame: Frame, points: Points, palette: Palette) -> None:
    painter.setBrush(_color(points, palette, 0.85 if points.size > 3 else 0.4))
    for x, y in _finite(frame.x(points.x), frame.y(points.y)):
        paint_point(painter, QPointF(x, y), points)


def paint_point(painter: QPainter, at: QPointF, points: Points) -> None:
    """One point in the shape of its colour."""
    x, y, r = at.x(), at.y(), points.size
    match SHAPES[points.color // 2 % len(SHAPES)]:
        case "square":
            painter.drawRect(QRectF(x - r, y - r, 2 * r, 2 * r))
        case "diamond":
            corners = ((x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y))
            painter.drawPolygon([QPointF(*corner) for corner in corners])
        case "triangle":
            three = ((x, y - r - 1), (x + r + 1, y + r), (x - r - 1, y + r))
            painter.drawPolygon([QPointF(*corner) for corner in three])
        case _:
            painter.drawEllipse(at, r, r)


def _paint_bars(painter: QPainter, frame: Frame, bars: Bars, palette: Palette) -> None:
    """Bars with their error bars; one that is not zero is seen."""
    has_errors = bars.low is not None and bars.high is not None
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(_color(bars, palette, 0.6 if has_errors else 0.85))
    left, right = frame.x(bars.x - bars.widths / 2), frame.x(bars.x + bars.widths / 2)
    tops = frame.y(bars.y)
    bottom = frame.box.bottom()
    for a, b, top, value in zip(left, right, tops, bars.y, strict=True):
        if value:
            high = max(1.0, bottom - float(top))
            painter.drawRect(QRectF(float(a) + 0.5, bottom - high, max(1.0, b - a - 1), high))
    if bars.low is not None and bars.high is not None:
        painter.setPen(QPen(palette(Role.TEXT, 1.0), 1))
        for x, low, high in zip(
            frame.x(bars.x), frame.y(bars.low), frame.y(bars.high), strict=True
        ):
            painter.drawLine(QPointF(x, low), QPointF(x, high))


def _paint_marker(painter: QPainter, frame: Frame, marker: Marker, palette: Palette) -> None:
    if not frame.span.left <= marker.x <= frame.span.right:
        return
    x, top = frame.x_at(marker.x), frame.whole.top()
    painter.setPen(marker_pen(marker, palette))
    painter.drawLine(QPointF(x, frame.box.top()), QPointF(x, frame.box.bottom()))
    if marker.label:
        wide = frame.metrics.horizontalAdvance(marker.label) + 4
        painter.setPen(palette(marker.role, 1.0))
        label = QRectF(min(x, frame.whole.right() - wide), top, wide, frame.line)
        painter.drawText(label, AT_LEFT, marker.label)


def _color(series: Series, palette: Palette, opacity: float = 1.0) -> QColor:
    return palette(series.role or CHART[series.color % len(CHART)], opacity)


def _finite(x: Floats, y: Floats) -> Iterator[tuple[float, float]]:
    known = np.isfinite(x) & np.isfinite(y)
    return zip(x[known].tolist(), y[known].tolist(), strict=True)


# ── legend ───────────────────────────────────────────────────────────────────────────────────


def legend_rows(
    chart: Chart, width: float, metrics: QFontMetricsF
) -> list[list[tuple[Series | None, str]]]:
    """Named series in as many rows as they need, in columns of one width; None for the rest."""
    named = [
        item for item in chart.series if item.name and not (isinstance(item, Line) and item.faint)
    ]
    shown = named[:LEGEND_ENTRIES]
    entries: list[tuple[Series | None, str]] = [(item, visible(item.name)) for item in shown]
    if len(named) > len(shown):
        entries.append((None, f"+ {len(named) - len(shown)}"))
    columns = int(width / _legend_width(entries, width, metrics)) if entries else 1
    return [entries[n : n + columns] for n in range(0, len(entries), columns)]


def _legend_width(
    entries: Sequence[tuple[Series | None, str]], width: float, metrics: QFontMetricsF
) -> float:
    widest = max(metrics.horizontalAdvance(text) for _, text in entries)
    return max(1.0, min(width / 2, widest + LEGEND_SYMBOL + 24))


def _paint_legend(painter: QPainter, frame: Frame, palette: Palette) -> None:
    if not frame.legend:
        return
    high, whole, metrics = frame.line + 4, frame.whole, frame.metrics
    wide = _legend_width([entry for row in frame.legend for entry in row], whole.width(), metrics)
    for row, entries in enumerate(frame.legend):
        y = whole.bottom() - (len(frame.legend) - row - 0.5) * high
        for column, (series, text) in enumerate(entries):
            x = whole.left() + 8 + column * wide
            if isinstance(series, Points):
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(_color(series, palette, 0.85))
                paint_point(painter, QPointF(x + LEGEND_SYMBOL / 2, y), series)
            elif series is not None:
                pen = line_pen(series, palette) if isinstance(series, Line) else QPen()
                painter.setPen(pen)
                painter.drawLine(QPointF(x, y), QPointF(x + LEGEND_SYMBOL, y))
            painter.setPen(palette(Role.TEXT, 1.0))
            room = wide - LEGEND_SYMBOL - 14
            name = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room + 1)
            label = QRectF(x + LEGEND_SYMBOL + 6, y - high / 2, room + 2, high)
            painter.drawText(label, AT_LEFT, name)


# ── on paper ─────────────────────────────────────────────────────────────────────────────────


def chart_figure(
    name: str, title: str, caption: str, chart: Chart, span: Span | None = None
) -> Figure:
    """A chart as a figure with its points as a table; `name` is that of the file."""
    shown, letters = span or chart.span(), paper_font(12)
    rows = legend_rows(chart, PAPER.width(), QFontMetricsF(letters))
    extra = round(len(rows) * (QFontMetricsF(letters).height() + 4))

    def draw(painter: QPainter, size: QSizeF) -> None:
        whole = QRectF(QPointF(), size)
        paint(painter, Frame(whole, chart, letters, shown), print_color, letters)

    return Figure(
        name=name,
        title=title,
        caption=caption,
        size=QSize(PAPER.width(), PAPER.height() + extra),
        paint=draw,
        table=lambda: _table(chart),
    )


def _table(chart: Chart) -> Table:
    """A row for each point, with the ends of its interval if there are any."""
    has_ends = any(series.low is not None for series in chart.series)
    rows: list[tuple[object, ...]] = []
    for number, series in enumerate(chart.series):
        columns = [series.x, series.y]
        if has_ends:
            nothing = np.full(len(series.x), np.nan)
            columns += [nothing if ends is None else ends for ends in (series.low, series.high)]
        for values in zip(*(column.tolist() for column in columns), strict=True):
            cells = ("" if value != value else value for value in values[2:])
            rows.append((series.name or number, *values[:2], *cells))
    ends = ("low", "high") if has_ends else ()
    return Table(("series", chart.x.title, chart.y.title, *ends), rows)
