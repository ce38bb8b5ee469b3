"""Curves over steps: smoothed, zoomed, read with a crosshair, and told in words.

A million points stay fluent: pyqtgraph draws the peaks of what is in view. Lines differ in colour
and in their dashes. Where a value was not finite the line has a gap.
"""

from collections import deque
from collections.abc import Callable

import numpy as np
import pyqtgraph
import shiboken6
from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QPen,
    QShowEvent,
)
from PySide6.QtWidgets import QMenu, QWidget

from app import theme
from app.notices import Notices
from app.theme import SPACE
from app.timers import debounced
from app.widgets import layouts
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.legend import Legend
from app.widgets.charts.sparkline import Sparkline, paint_sparkline
from app.widgets.curve_texts import sentence
from app.widgets.keys import sideways, within
from app.widgets.lines import Line, LineChart, figure_of_lines, whole_span
from app.widgets.plot import Plot
from app.widgets.series import Floats, Series, Steps, Values
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from engine.files.spreadsheet import format_table

__all__ = ["Curve", "Sparkline", "paint_sparkline"]

SMOOTH_LINES = 3000  # points up to which a line is drawn with soft edges
DRAW_DELAY_MS = 60  # ms in which new points are drawn together
LEGEND_ENTRIES = 8  # series that the legend names


class Curve(QWidget):
    """One or more named series over steps.

    Signals:
        looked_at: the step under the crosshair; NaN when it is gone.
    """

    looked_at = Signal(float)

    def __init__(
        self, title: str, unit: str = "", parent: QWidget | None = None, places: int = 4
    ) -> None:
        """`unit` names the axis of values where `title` does not; `places` is how many decimals of
        a value are told.
        """
        super().__init__(parent)
        self._title, self._unit, self._places = title, unit, places
        self._series: dict[str, Series] = {}
        self._sharp: set[str] = set()
        self._lines: dict[str, tuple[pyqtgraph.PlotDataItem, pyqtgraph.PlotDataItem]] = {}
        self._smoothing, self._window = 1, 0
        self._log = self._clip = False
        self._step = float("nan")
        self._limits = (-np.inf, np.inf)
        self._plot: Plot | None = None
        self.heading = Text(title, "strong", wraps=False)
        self.readout = OneLine("", "muted")
        self.readout.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.legend = Legend()
        self.empty = Text(self.tr("No values yet"), "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        head = layouts.row(self.heading, (self.readout, 1), margins=(2 * SPACE, 0, 2 * SPACE, 0))
        self._head = head
        self.keep: FigureButton | None = None
        column = layouts.column(head, parent=self, spacing=SPACE)
        below = layouts.row(self.legend, margins=(2 * SPACE, 0, 2 * SPACE, 0))
        column.addLayout(below)
        column.addWidget(self.empty, 1)
        self._column = column
        self.setMinimumHeight(140)
        self._pause = debounced(self, DRAW_DELAY_MS, self._draw)
        _make_soon(self)

    @property
    def plot(self) -> Plot:
        """The drawing. It takes some 40 ms to make, so a page with several stands there first."""
        if self._plot is None:
            self._plot = Plot(self, self._unit or self._title, self.tr("Step"))
            self._plot.hovered.connect(self._on_hovered)
            self._plot.left.connect(self.reset_view)
            self._column.addWidget(self._plot, 1)
            self._plot.setLogMode(x=False, y=self._log)
            self._apply_style()
            for name in self._series:
                self._make_line(name)
            self._describe()
            self._pause.start()
        return self._plot

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def set_series(self, name: str, steps: Steps, values: Values) -> None:
        """Show `values` over rising `steps` under `name`, in place of what was there."""
        self._series[name] = Series(steps, values)
        self._make_line(name)
        self._pause.start()

    def keep_sharp(self, name: str) -> None:
        """Never smooth this series: it has few points, and each counts."""
        self._sharp.add(name)
        self._pause.start()

    def append(self, name: str, steps: Steps, values: Values) -> None:
        """Add points; a step that was there before takes back all from it on."""
        if name not in self._series:
            self.set_series(name, steps, values)
            return
        self._series[name].extend(steps, values)
        if not self._pause.isActive():
            self._pause.start()

    def remove(self, name: str) -> None:
        """Take a series away."""
        if self._series.pop(name, None) is not None:
            for line in self._lines.pop(name, ()):
                self.plot.removeItem(line)
            self._apply_style()
            self._pause.start()

    def clear(self) -> None:
        for name in list(self._series):
            self.remove(name)

    def names(self) -> list[str]:
        return list(self._series)

    def series(self, name: str) -> Series:
        return self._series[name]

    def set_smoothing(self, points: int) -> None:
        """Draw the mean over so many neighbours, with the values themselves faint behind it."""
        self._smoothing = max(1, points)
        self._draw()

    def set_log(self, log: bool) -> None:
        """A logarithmic axis of values; what is not above zero becomes a gap."""
        self._log = log
        if self._plot is not None:
            self._plot.setLogMode(x=False, y=log)
        self._draw()

    def set_clip(self, clip: bool) -> None:
        """Show the range of the middle 98 % of the values, so that outliers do not flatten it."""
        self._clip = clip
        self._draw()

    def set_window(self, steps: int) -> None:
        """Show only the last `steps`; 0 shows all."""
        self._window = max(0, steps)
        self._draw()

    def set_empty(self, why: str) -> None:
        """What is said in place of the drawing while there is no value."""
        self.empty.setText(why)
        self._describe()

    def reset_view(self) -> None:
        """Leave the zoom."""
        self.plot.set_free(False)
        self._draw()

    def look_at(self, step: float) -> None:
        """Put the crosshair at `step`, for curves that are read together; NaN takes it away."""
        self._step = step
        self._read()

    def draw_now(self) -> None:
        """Draw what waits; for pictures and tests."""
        self._pause.stop()
        self._draw()

    def offer_figure(self, name: str, notices: Notices) -> None:
        """Offer the curve as a picture and its points as a table; `name` is that of the file."""
        self._file = name
        self.keep = FigureButton(self.figure, notices)
        show_all = self.keep.menu().addAction(self.tr("Show &all"))
        show_all.triggered.connect(lambda _=False: self.reset_view())
        self._head.addWidget(self.keep)

    def figure(self) -> Figure | None:
        """The curve as it is drawn, all of it or the stretch that is zoomed in on."""
        lines = []
        for number, (name, series) in enumerate(self._series.items()):
            smooths = self._smoothing > 1 and len(series) > 2 and name not in self._sharp
            values = series.smoothed(self._smoothing) if smooths else series.values.copy()
            if len(series):
                lines.append(Line(name, series.steps.copy(), values, number))
        if not lines:
            return None
        axis = self._unit or self._title
        chart = LineChart(self._title, self.tr("Step"), axis, tuple(lines), self._log)
        span = None
        if self._plot is not None and self._plot.is_free():
            left, right = self._plot.getViewBox().viewRange()[0]
            span = whole_span(chart, left, right)
        smoothed = self.tr("Smoothed over {0} steps.").format(self._smoothing)
        return figure_of_lines(self._file, smoothed if self._smoothing > 1 else "", chart, span)

    # ── how ──────────────────────────────────────────────────────────────────────────────────

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints(event):
            self._apply_style()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.keep is not None:
            self.keep.menu().popup(event.globalPos())
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        entries: list[tuple[str, Callable[[], None]]] = [
            (self.tr("Show &all"), self.reset_view),
            (self.tr("Copy &picture"), self.copy_picture),
            (self.tr("Copy &numbers"), self.copy_numbers),
        ]
        for text, act in entries:
            menu.addAction(text).triggered.connect(lambda _=False, act=act: act())
        menu.popup(event.globalPos())

    def copy_picture(self) -> None:
        QGuiApplication.clipboard().setPixmap(self.grab())

    def copy_numbers(self) -> None:
        """All points as a table with tabs, one row for each step and series."""
        rows = [
            (name, f"{step:g}", value)
            for name, series in self._series.items()
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True)
        ]
        QGuiApplication.clipboard().setText(format_table(("series", "step", "value"), rows, "\t"))

    def _make_line(self, name: str) -> None:
        if self._plot is None or name in self._lines:
            return
        faint, line = (pyqtgraph.PlotDataItem(connect="finite") for _ in range(2))
        line.setZValue(2)
        for item in (faint, line):
            self._plot.addItem(item)
        self._lines[name] = (faint, line)
        self._apply_style()

    def _apply_style(self) -> None:
        """Give every part its colour of the present theme."""
        if self._plot is None:
            return
        self._plot.apply_style()
        for number, name in enumerate(self._lines):
            faint, line = self._lines[name]
            line.setPen(self._pen(number))
            if line.opts["symbol"] is not None:
                line.setSymbolBrush(self._pen(number).color())
            pale, faded = self._pen(number), self._pen(number).color()
            faded.setAlphaF(0.28)
            pale.setColor(faded)
            pale.setWidthF(1.0)
            faint.setPen(pale)
        named = list(self._lines)[:LEGEND_ENTRIES] if len(self._lines) > 1 else []
        rest = len(self._lines) - len(named) if named else 0
        pens = {name: self._pen(number) for number, name in enumerate(named)}
        self.legend.show_series(pens, self.tr("and %Ln more", "", rest) if rest else "")

    def _pen(self, number: int) -> QPen:
        return theme.chart_pen(number)

    def _draw(self) -> None:
        """Hand the points to the plot, set the ranges, and say in words what there is."""
        if self._plot is None or not self.isVisible():
            self._describe()
            return
        if not self._plot.is_free():
            self._set_ranges()
        for name, (faint, line) in self._lines.items():
            series = self._series[name]
            soft = len(series) <= SMOOTH_LINES
            smooths = self._smoothing > 1 and len(series) > 2 and name not in self._sharp
            shown = series.smoothed(self._smoothing) if smooths else series.values
            line.setData(series.steps, self._cut(shown), antialias=soft, **_dots(series, line))
            faint.setVisible(smooths)
            if smooths:
                faint.setData(series.steps, self._cut(series.values), antialias=False)
        self._read()
        self._describe()

    def _set_ranges(self) -> None:
        filled = [s for s in self._series.values() if len(s)]
        if not filled:
            return
        last = max(float(s.steps[-1]) for s in filled)
        first = min(float(s.steps[0]) for s in filled)
        if self._window:
            first = max(first, last - self._window)
        seen = np.concatenate([s.values[np.searchsorted(s.steps, first) :] for s in filled])
        seen = seen[np.isfinite(seen)]
        if self._log:
            seen = np.log10(seen[seen > 0])
        self.plot.setXRange(first, last if last > first else first + 1, padding=0.02)
        if len(seen):
            low, high = np.percentile(seen, [1, 99]) if self._clip else (seen.min(), seen.max())
            if high <= low:
                low, high = low - abs(low) * 0.1 - 1e-9, high + abs(high) * 0.1 + 1e-9
            self.plot.setYRange(float(low), float(high), padding=0.06)
            far = 10 * (high - low)
            self._limits = (low - far, high + far)

    def _cut(self, values: Floats) -> Floats:
        """`values` as far as the picture goes: Qt takes seconds to stroke a line of miles."""
        if not self._clip:
            return values
        low, high = self._limits
        return np.clip(values, 10**low, 10**high) if self._log else np.clip(values, low, high)

    # ── the crosshair ────────────────────────────────────────────────────────────────────────

    def _on_hovered(self, step: float) -> None:
        self._step = step
        self._read()
        self.looked_at.emit(step)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = sideways(event)
        longest = max(self._series.values(), key=len, default=None)
        if event.key() == Qt.Key.Key_Escape and self._step == self._step:
            self._on_hovered(float("nan"))
        elif move and longest is not None and len(longest):
            steps = longest.steps
            place = (
                len(steps) - 1
                if self._step != self._step
                else int(np.searchsorted(steps, self._step)) + move
            )
            self._on_hovered(float(steps[within(place, len(steps) - 1)]))
        else:
            super().keyPressEvent(event)

    def _read(self) -> None:
        """Show for the step under the crosshair the last value of each series; else the newest."""
        step = self._pointed()
        there = step == step
        named = numbers.count(round(step)) if there else ""
        points = {n: s.at(step if there else np.inf) for n, s in self._series.items()}
        if self._plot is not None:
            self._plot.show_crosshair(step, [point for point in points.values() if point])
        values = {name: self._value(point, step) for name, point in points.items()}
        if not self.legend.entries:
            value = next(iter(values.values()), "")
            template = self.tr("step {0}: {1}") if there else "{1}"
            self.readout.setText(template.format(named, value))
            return
        self.readout.setText(self.tr("step {0}").format(named) if there else "")
        self.legend.show_values(values)

    def _pointed(self) -> float:
        """The step under the crosshair; NaN without one, or where there is no step at all."""
        filled = [series.steps for series in self._series.values() if len(series)]
        if self._step != self._step or not filled:
            return float("nan")
        last = max(float(steps[-1]) for steps in filled)
        return float(min(max(round(self._step), 0), last))

    def _value(self, point: tuple[float, float] | None, step: float) -> str:
        """A value, and its step where that is not the one that is pointed at."""
        if point is None:
            return self.tr("no value yet") if step == step else ""
        at, value = point
        if step != step or at == step:
            return self._number(value)
        return self.tr("{0} (step {1})").format(self._number(value), numbers.count(round(at)))

    def _number(self, value: float) -> str:
        return numbers.decimal(value, self._places)

    def _describe(self) -> None:
        """Say in words what the curve shows, or in place of the drawing why it shows nothing."""
        has_values = any(len(series) for series in self._series.values())
        self.empty.setVisible(not has_values)
        said = [sentence(name, each, self._number) for name, each in self._series.items()]
        self.setAccessibleName(self.tr("Curve of {0}").format(self._title))
        self.setAccessibleDescription(". ".join(said) if has_values else self.empty.text())
        if self._plot is not None:
            self._plot.setVisible(has_values)
            self._plot.setAccessibleName(self.accessibleName())
            self._plot.setAccessibleDescription(self.accessibleDescription())


_waiting: deque[Curve] = deque()  # for their drawings


def _make_soon(curve: Curve) -> None:
    """Make the drawing of `curve`, one in each round of the event loop."""
    _waiting.append(curve)
    if len(_waiting) == 1:
        QTimer.singleShot(0, _make_one)


def _make_one() -> None:
    curve = _waiting.popleft()
    if shiboken6.isValid(curve):
        _ = curve.plot
    if _waiting:
        QTimer.singleShot(0, _make_one)


def _dots(series: Series, line: pyqtgraph.PlotDataItem) -> dict[str, object]:
    """Marks for a few points, which a line alone would hardly show."""
    if len(series) > 40:
        return {"symbol": None}
    pen = line.opts["pen"]
    return {"symbol": "o", "symbolSize": 5, "symbolBrush": pen.color(), "symbolPen": None}
