"""A chart that grows, drawn by pyqtgraph, which stays fluent with a million points."""

import math
from collections.abc import Sequence

import numpy as np
import pyqtgraph
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtWidgets import QWidget

from app import theme
from app.theme import Role, px
from app.widgets.charts.chart import TICKS, Axis, Chart, Line, Span
from app.widgets.charts.painting import line_pen, marker_pen
from app.widgets.text.labels import font

LEFT_AXIS, BOTTOM_AXIS = 72, 40  # px: width and height of the axes with labels and titles
MAX_SMOOTH_POINTS = 3000  # lines with more are not antialiased
SAMPLES = 2  # pairs of points per pixel of a long line
END = 20  # px from the end of an axis to that of its last label, at most
FAR = 10  # times the height of the view: Qt takes seconds to stroke a line beyond it


class LivePlot(pyqtgraph.PlotWidget):  # type: ignore[misc]  # it has no types
    """Shows the lines and markers of a `Chart`; zoomed by the mouse.

    Signals:
        hovered: x under the mouse; NaN when it left.
        reset_requested: a double click, to leave the zoom.
    """

    hovered = Signal(float)
    reset_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        axes = {side: _Axis(orientation=side) for side in ("left", "bottom")}
        super().__init__(parent, axisItems=axes, enableMenu=False)
        self.hideButtons()
        self.setMouseEnabled(x=True, y=False)
        self.setFrameShape(self.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.getViewBox().setMouseMode(pyqtgraph.ViewBox.RectMode)
        self.disableAutoRange()
        parent.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.chart = Chart(Axis(), Axis())
        self.is_zoomed = False  # by the user, so that new points must not move the view
        self._items: dict[tuple[str, bool], pyqtgraph.PlotDataItem] = {}
        self._markers: list[pyqtgraph.InfiniteLine] = []
        self._cross = pyqtgraph.InfiniteLine(angle=90, movable=False)
        self._cross.setZValue(5)
        self._dots = pyqtgraph.ScatterPlotItem(size=8)
        self._dots.setZValue(6)
        for item in (self._cross, self._dots):
            self.addItem(item, ignoreBounds=True)
            item.hide()
        self.scene().sigMouseMoved.connect(self._on_moved)
        self.getViewBox().sigRangeChangedManually.connect(self._on_zoomed)

    def item(self, name: str, faint: bool = False) -> pyqtgraph.PlotDataItem:
        return self._items[name, faint]

    def span(self) -> Span:
        (left, right), (low, high) = self.getViewBox().viewRange()
        return Span(left, right, low, high)

    def show_chart(self, chart: Chart) -> None:
        """Show the lines and markers; the view follows the data unless the user has zoomed."""
        has_other_style = self._has_other_style(chart)
        self.chart = chart
        if has_other_style:
            self.setLogMode(x=False, y=chart.y.log)
        span = chart.span()
        if not self.is_zoomed:
            self.setXRange(span.left, span.right, padding=0.02)
            self.setYRange(span.low, span.high, padding=0)
        for key in self._items.keys() - {_key(line) for line in chart.lines}:
            self.removeItem(self._items.pop(key))
        self._show_lines()
        if has_other_style:
            self.apply_style()

    def _show_lines(self) -> None:
        span = self.chart.span()
        for line in self.chart.lines:
            self._show_line(line, span)

    def _has_other_style(self, chart: Chart) -> bool:

        def style(chart: Chart) -> object:
            lines = [(_key(line), line.color) for line in chart.lines]
            x, y = chart.x, chart.y
            return lines, chart.markers, x.title, x.integer, y.title, y.log, y.text

        return style(chart) != style(self.chart)

    def _show_line(self, line: Line, span: Span) -> None:
        item = self._items.get(_key(line))
        if item is None:
            item = self._items[_key(line)] = pyqtgraph.PlotDataItem(connect="finite")
            item.setZValue(1 if line.faint else 2)
            self.addItem(item)
        far = FAR * (span.high - span.low)
        low, high = span.low - far, span.high + far
        if self.chart.y.log:
            low, high = 10.0 ** max(low, -300), 10.0 ** min(high, 300)
        # pyqtgraph's own thinning drops the last points, and all values near one that is NaN
        left, right = self.getViewBox().viewRange()[0]
        x, y = line.thin(left, right, SAMPLES * self.width())
        if np.fmin.reduce(y, initial=low) < low or np.fmax.reduce(y, initial=high) > high:
            y = np.clip(y, low, high)
        is_smooth = len(line.x) <= MAX_SMOOTH_POINTS and not line.faint
        item.setData(x, y, antialias=is_smooth, **_dots(line))

    def apply_style(self) -> None:
        self.setBackground(None)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent")
        self.getAxis("left").setWidth(px(LEFT_AXIS))
        self.getAxis("bottom").setHeight(px(BOTTOM_AXIS))
        small = font("small")
        for side, shown in (("left", self.chart.y), ("bottom", self.chart.x)):
            axis = self.getAxis(side)
            axis.shown = shown
            axis.setPen(pyqtgraph.mkPen(theme.colour(Role.BORDER), width=1))
            axis.setTextPen(pyqtgraph.mkPen(theme.colour(Role.MUTED)))
            axis.setTickFont(small)
            axis.setStyle(tickLength=0, tickTextOffset=6)
            axis.label.setFont(small)
            axis.setLabel(shown.title, color=theme.colour(Role.MUTED).name())
        self.showGrid(x=False, y=True, alpha=0.5)
        for line in self.chart.lines:
            item, pen = self._items[_key(line)], line_pen(line, theme.colour)
            item.setPen(pen)
            if line.dots:
                item.setSymbolBrush(pen.color())
        self._place_markers()
        dashes = Qt.PenStyle.DashLine
        self._cross.setPen(pyqtgraph.mkPen(theme.colour(Role.MUTED), width=1, style=dashes))
        self._dots.setBrush(theme.colour(Role.SURFACE))
        self._dots.setPen(pyqtgraph.mkPen(theme.colour(Role.TEXT), width=1.5))
        band = self.getViewBox().rbScaleBox
        band.setPen(pyqtgraph.mkPen(theme.colour(Role.ACCENT), width=1))
        band.setBrush(theme.colour(Role.ACCENT, 0.15))

    def _place_markers(self) -> None:
        for line in self._markers:
            self.removeItem(line)
        self._markers = []
        for marker in self.chart.markers:
            pen = marker_pen(marker, theme.colour)
            line = pyqtgraph.InfiniteLine(pos=marker.x, angle=90, pen=pen, movable=False)
            line.setToolTip(marker.tooltip)
            self._markers.append(line)
            self.addItem(line, ignoreBounds=True)

    def show_crosshair(self, x: float, points: Sequence[tuple[float, float]]) -> None:
        """Show a vertical line at `x` and a dot at each point; NaN hides both."""
        shown = not math.isnan(x)
        self._cross.setVisible(shown)
        self._dots.setVisible(shown)
        if shown:
            self._cross.setPos(x)
            log = self.chart.y.log
            finite = [(x, y) for x, y in points if math.isfinite(y) and not (log and y <= 0)]
            values = [y for _, y in finite]
            self._dots.setData([x for x, _ in finite], list(np.log10(values) if log else values))

    def sizeHint(self) -> QSize:
        return QSize(px(360), px(180))

    def mouseDoubleClickEvent(self, event: object) -> None:
        self.reset_requested.emit()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit(float("nan"))

    def _on_zoomed(self) -> None:
        self.is_zoomed = True
        self._show_lines()

    def _on_moved(self, mouse: QPointF) -> None:
        box = self.getViewBox()
        if QRectF(box.sceneBoundingRect()).contains(mouse):
            self.hovered.emit(float(box.mapSceneToView(mouse).x()))


def _dots(line: Line) -> dict[str, object]:
    if not line.dots:
        return {"symbol": None}
    brush = line_pen(line, theme.colour).color()
    return {"symbol": "o", "symbolSize": 5, "symbolBrush": brush, "symbolPen": None}


def _key(line: Line) -> tuple[str, bool]:
    return line.name, line.faint


class _Axis(pyqtgraph.AxisItem):  # type: ignore[misc]  # it has no types
    """Shows the same ticks and labels of an `Axis` as exports."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.shown = Axis()
        self.enableAutoSIPrefix(False)

    def boundingRect(self) -> QRectF:
        """With space for the labels at both ends, which pyqtgraph leaves out beyond it."""
        return QRectF(super().boundingRect()).adjusted(-END, -END, END, END)

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        label_size = 60 if self.orientation == "bottom" else 18  # px of a label
        count = max(1, min(TICKS, int(size / label_size)))
        high -= (high - low) * label_size / 2 / max(size, label_size)  # no label reaches over it
        ticks = self.shown.ticks(low, high, count)
        if len(ticks) > 2 and (ticks[1] - ticks[0]) * size < label_size * (high - low):
            ticks = [ticks[0], ticks[-1]]  # too close; coarser ones would be fewer than two
        return [(1.0, ticks)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return self.shown.labels(values)
