"""Paint charts, in the window and for export."""

from collections.abc import Iterator, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from app.theme import CHART, Palette, Role, chart_pen, print_color
from app.widgets.charts.chart import Axis, Bars, Chart, Floats, Line, Marker, Points, Series, Span
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.text.labels import visible

LEFT, TOP, RIGHT = 64, 8, 24  # px around the drawing, at least
COARSE = 0.4  # columns of a line per pixel while the view moves
MAX_THICK_LINES = 12  # more lines are thinner
SYMBOL, MAX_LEGEND_ENTRIES = 26, 24  # width of a line or point in px; named series
SHAPES = ("circle", "square", "diamond", "triangle")  # with the colour, for colour-blind eyes
MARKER_STYLES = {Role.BAD: Qt.PenStyle.DotLine, Role.WARN: Qt.PenStyle.DashDotLine}
FIGURE_SIZE = QSize(680, 420)  # px
CENTRE = Qt.AlignmentFlag.AlignCenter
AT_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
AT_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


class Frame:
    """Layout of a chart in a rectangle: the box within the axes, and values as pixels."""

    def __init__(
        self, rect: QRectF, chart: Chart, font: QFont, span: Span | None = None, legend: bool = True
    ) -> None:
        self.rect, self.chart, self.metrics = rect, chart, QFontMetricsF(font)
        self.span = span or chart.span()
        height = self.line_height = self.metrics.height()
        self.legend = legend_rows(chart, rect.width(), self.metrics) if legend else []
        below = height * (1 + bool(chart.x.title)) + 8 + len(self.legend) * (height + 4)
        above = height + 4 if any(marker.label for marker in chart.markers) else TOP
        bottom = rect.bottom() - below
        count = min(6, int((bottom - rect.top() - above) / (1.6 * height)))
        self.y_ticks = _labelled(chart.y, self.span.low, self.span.high, count)
        widths = [self.metrics.horizontalAdvance(text) for _, text in self.y_ticks]
        left = 1.0 if chart.y.hidden else max(LEFT, max(widths, default=0.0) + height + 12)
        right = 1.0 if chart.y.hidden else RIGHT
        self.box = QRectF(
            QPointF(rect.left() + left, rect.top() + above), QPointF(rect.right() - right, bottom)
        )
        self.x_ticks = self._x_ticks()

    def _x_ticks(self) -> list[tuple[float, str]]:
        span, ticks = self.span, list[tuple[float, str]]()
        for count in range(max(2, min(6, int(self.box.width() / 40))), 0, -1):
            ticks = _labelled(self.chart.x, span.left, span.right, count)
            widths = [self.metrics.horizontalAdvance(text) + 12 for _, text in ticks]
            if max(widths, default=0.0) * (len(ticks) - 1) <= self.box.width():
                return ticks
        return ticks[:: max(1, len(ticks) - 1)]

    def x(self, values: Floats | float) -> Floats:
        fractions = (values - self.span.left) / (self.span.right - self.span.left)
        return np.asarray(self.box.left() + fractions * self.box.width())

    def y(self, values: Floats) -> Floats:
        """Pixels of values; values far outside the view are clipped, since Qt takes seconds to
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


def _labelled(axis: Axis, low: float, high: float, count: int) -> list[tuple[float, str]]:
    """Ticks with their labels."""
    ticks = axis.ticks(low, high, count)
    return list(zip(ticks, axis.labels(ticks), strict=True))


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
    width = (2.0 if lines <= MAX_THICK_LINES else 1.2) if fine and not line.faint else 1.0
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
    chart, box, height = frame.chart, frame.box, frame.line_height
    for tick, text in frame.y_ticks:
        fraction = (tick - frame.span.low) / (frame.span.high - frame.span.low)
        y = box.bottom() - fraction * box.height()
        painter.setPen(QPen(palette(Role.BORDER, 1.0), 1))
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        painter.setPen(palette(Role.MUTED, 1.0))
        label = QRectF(
            frame.rect.left(), y - height / 2, box.left() - frame.rect.left() - 6, height
        )
        painter.drawText(label, AT_RIGHT, text)
    if chart.y.hidden:
        painter.setPen(QPen(palette(Role.EDGE, 1.0), 1))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
    painter.setPen(palette(Role.MUTED, 1.0))
    for tick, text in frame.x_ticks:
        width = frame.metrics.horizontalAdvance(text) + 4
        left = min(frame.x_at(tick) - width / 2, frame.rect.right() - width)
        left = max(left, frame.rect.left())
        painter.drawText(QRectF(left, box.bottom() + 3, width, height), CENTRE, text)
    if chart.x.title:
        below = QRectF(box.left(), box.bottom() + height + 4, box.width(), height)
        painter.drawText(below, CENTRE, chart.x.title)
    if chart.y.title and not chart.y.hidden:
        _paint_y_title(painter, frame)


def _paint_y_title(painter: QPainter, frame: Frame) -> None:
    """Paint the title upright, centred on the axis if it fits, else over the whole height."""
    box, height = frame.box, frame.line_height
    length = box.bottom() + height - frame.rect.top()
    title = frame.metrics.elidedText(frame.chart.y.title, Qt.TextElideMode.ElideRight, length)
    middle = box.bottom() + height - box.center().y()  # of the axis, from the lower end
    half = min(middle, length - middle)
    fits = frame.metrics.horizontalAdvance(title) <= 2 * half
    painter.save()
    painter.translate(frame.rect.left(), box.bottom() + height)
    painter.rotate(-90)
    area = QRectF(middle - half, -2, 2 * half, height) if fits else QRectF(0, -2, length, height)
    painter.drawText(area, CENTRE, title)
    painter.restore()


def _paint_line(painter: QPainter, frame: Frame, line: Line, fine: bool, palette: Palette) -> None:
    columns = frame.box.width() * (1.0 if fine else COARSE)
    x, y = line.thin(frame.span.left, frame.span.right, columns)
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
    finite = np.isfinite(low) & np.isfinite(high)
    upper = list(zip(x[finite].tolist(), high[finite].tolist(), strict=True))
    lower = list(zip(x[finite].tolist(), low[finite].tolist(), strict=True))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette(CHART[line.color % len(CHART)], 0.18))
    painter.drawPolygon(QPolygonF([QPointF(*point) for point in [*upper, *reversed(lower)]]))


def _paint_points(painter: QPainter, frame: Frame, points: Points, palette: Palette) -> None:
    painter.setBrush(_color(points, palette, 0.85 if points.size > 3 else 0.4))
    for x, y in _finite(frame.x(points.x), frame.y(points.y)):
        paint_point(painter, QPointF(x, y), points)


def paint_point(painter: QPainter, centre: QPointF, points: Points) -> None:
    """Paint one point in the shape of its colour."""
    paint_shape(painter, centre, points.color // 2, points.size)


def paint_shape(painter: QPainter, centre: QPointF, shape: int, radius: float) -> None:
    """Paint one of the `SHAPES` by its index."""
    x, y, r = centre.x(), centre.y(), radius
    match SHAPES[shape % len(SHAPES)]:
        case "square":
            painter.drawRect(QRectF(x - r, y - r, 2 * r, 2 * r))
        case "diamond":
            corners = ((x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y))
            painter.drawPolygon([QPointF(*corner) for corner in corners])
        case "triangle":
            triangle = ((x, y - r - 1), (x + r + 1, y + r), (x - r - 1, y + r))
            painter.drawPolygon([QPointF(*corner) for corner in triangle])
        case _:
            painter.drawEllipse(centre, r, r)


def _paint_bars(painter: QPainter, frame: Frame, bars: Bars, palette: Palette) -> None:
    """Paint bars with their error bars; a bar that is not zero is at least 1 px high."""
    has_errors = bars.low is not None and bars.high is not None
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(_color(bars, palette, 0.6 if has_errors else 0.85))
    left, right = frame.x(bars.x - bars.widths / 2), frame.x(bars.x + bars.widths / 2)
    tops = frame.y(bars.y)
    bottom = frame.box.bottom()
    for a, b, top, value in zip(left, right, tops, bars.y, strict=True):
        if value:
            height = max(1.0, bottom - float(top))
            painter.drawRect(QRectF(float(a) + 0.5, bottom - height, max(1.0, b - a - 1), height))
    if bars.low is not None and bars.high is not None:
        painter.setPen(QPen(palette(Role.TEXT, 1.0), 1))
        for x, low, high in zip(
            frame.x(bars.x), frame.y(bars.low), frame.y(bars.high), strict=True
        ):
            painter.drawLine(QPointF(x, low), QPointF(x, high))


def _paint_marker(painter: QPainter, frame: Frame, marker: Marker, palette: Palette) -> None:
    if not frame.span.left <= marker.x <= frame.span.right:
        return
    x, top = frame.x_at(marker.x), frame.rect.top()
    painter.setPen(marker_pen(marker, palette))
    painter.drawLine(QPointF(x, frame.box.top()), QPointF(x, frame.box.bottom()))
    if marker.label:
        width = frame.metrics.horizontalAdvance(marker.label) + 4
        painter.setPen(palette(marker.role, 1.0))
        label = QRectF(min(x, frame.rect.right() - width), top, width, frame.line_height)
        painter.drawText(label, AT_LEFT, marker.label)


def _color(series: Series, palette: Palette, opacity: float = 1.0) -> QColor:
    return palette(series.role or CHART[series.color % len(CHART)], opacity)


def _finite(x: Floats, y: Floats) -> Iterator[tuple[float, float]]:
    finite = np.isfinite(x) & np.isfinite(y)
    return zip(x[finite].tolist(), y[finite].tolist(), strict=True)


# ── legend ───────────────────────────────────────────────────────────────────────────────────


def legend_rows(
    chart: Chart, width: float, metrics: QFontMetricsF
) -> list[list[tuple[Series | None, str]]]:
    """Named series in as many rows as they need, in columns of one width; None for the rest."""
    named = [
        item for item in chart.series if item.name and not (isinstance(item, Line) and item.faint)
    ]
    shown = named[:MAX_LEGEND_ENTRIES]
    entries: list[tuple[Series | None, str]] = [(item, visible(item.name)) for item in shown]
    if len(named) > len(shown):
        entries.append((None, f"+ {len(named) - len(shown)}"))
    columns = int(width / _legend_width(entries, width, metrics)) if entries else 1
    return [entries[n : n + columns] for n in range(0, len(entries), columns)]


def _legend_width(
    entries: Sequence[tuple[Series | None, str]], width: float, metrics: QFontMetricsF
) -> float:
    widest = max(metrics.horizontalAdvance(text) for _, text in entries)
    return max(1.0, min(width / 2, widest + SYMBOL + 24))


def _paint_legend(painter: QPainter, frame: Frame, palette: Palette) -> None:
    if not frame.legend:
        return
    height, rect, metrics = frame.line_height + 4, frame.rect, frame.metrics
    all_entries = [entry for row in frame.legend for entry in row]
    column_width = _legend_width(all_entries, rect.width(), metrics)
    for row, entries in enumerate(frame.legend):
        y = rect.bottom() - (len(frame.legend) - row - 0.5) * height
        for column, (series, text) in enumerate(entries):
            x = rect.left() + 8 + column * column_width
            if isinstance(series, Points):
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(_color(series, palette, 0.85))
                paint_point(painter, QPointF(x + SYMBOL / 2, y), series)
            elif series is not None:
                pen = line_pen(series, palette) if isinstance(series, Line) else QPen()
                painter.setPen(pen)
                painter.drawLine(QPointF(x, y), QPointF(x + SYMBOL, y))
            painter.setPen(palette(Role.TEXT, 1.0))
            width = column_width - SYMBOL - 14
            name = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, width + 1)
            label = QRectF(x + SYMBOL + 6, y - height / 2, width + 2, height)
            painter.drawText(label, AT_LEFT, name)


# ── figures ──────────────────────────────────────────────────────────────────────────────────


def chart_figure(
    name: str, title: str, caption: str, chart: Chart, span: Span | None = None
) -> Figure:
    """A chart as a figure with its points as a table; `name` is the file name."""
    shown, font = span or chart.span(), print_font(12)
    rows = legend_rows(chart, FIGURE_SIZE.width(), QFontMetricsF(font))
    extra = round(len(rows) * (QFontMetricsF(font).height() + 4))

    def draw(painter: QPainter, size: QSizeF) -> None:
        rect = QRectF(QPointF(), size)
        paint(painter, Frame(rect, chart, font, shown), print_color, font)

    return Figure(
        name=name,
        title=title,
        caption=caption,
        size=QSize(FIGURE_SIZE.width(), FIGURE_SIZE.height() + extra),
        paint=draw,
        table=lambda: _table(chart),
    )


def _table(chart: Chart) -> Table:
    """A row for each point, with the ends of its interval if there are any."""
    has_ends = any(series.low is not None for series in chart.series)
    rows: list[tuple[object, ...]] = []
    for index, series in enumerate(chart.series):
        columns = [series.x, series.y]
        if has_ends:
            missing = np.full(len(series.x), np.nan)
            columns += [missing if ends is None else ends for ends in (series.low, series.high)]
        for values in zip(*(column.tolist() for column in columns), strict=True):
            cells = ("" if value != value else value for value in values[2:])
            rows.append((series.name or index, *values[:2], *cells))
    ends = ("low", "high") if has_ends else ()
    return Table(("series", chart.x.title, chart.y.title, *ends), rows)
