"""Live charts: series over steps that grow, are smoothed, zoomed and read with a crosshair."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import shiboken6
from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app import theme
from app.notices import Notices
from app.theme import SPACE, chart_pen, px
from app.timers import debounced
from app.widgets import layouts
from app.widgets.charts.chart import (
    Axis,
    Chart,
    Line,
    Marker,
    describe_series,
    percent_text,
    tick_text,
    value_range,
    widen,
)
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.legend import Legend
from app.widgets.charts.live_plot import LivePlot
from app.widgets.charts.painting import chart_figure
from app.widgets.charts.series import Steps, StepSeries, Values
from app.widgets.keys import clamp, horizontal_step
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text

DRAW_DELAY_MS = 60  # points added within it are drawn together
MAX_LEGEND_ENTRIES = 8
MAX_DOTS = 40  # longer series have no dots; in short ones a line would hardly show the points
CLIPPED_FRACTION = 0.98  # fraction of the values that a clipped axis shows


def link_crosshairs(charts: Sequence["LiveChart"]) -> None:
    """Move the crosshairs of charts over the same steps together."""
    for chart in charts:
        for other in charts:
            if other is not chart:
                chart.step_hovered.connect(other.show_step)


class LiveChart(QWidget):
    """One or more named series over steps.

    Signals:
        step_hovered: the step under the crosshair; NaN when it is gone.
    """

    step_hovered = Signal(float)

    def __init__(self, title: str, unit: str = "", decimals: int = 4) -> None:
        """`unit` is the title of the value axis, by default `title`."""
        super().__init__()
        self._title, self._unit, self._decimals = title, unit or title, decimals
        self._series: dict[str, StepSeries] = {}
        self._unsmoothed: set[str] = set()
        self.markers: tuple[Marker, ...] = ()
        self._smoothing, self._window = 1, 0
        self._log = self._clip = self._is_percent = False
        self._step = math.nan
        self._file = ""
        self._plot: LivePlot | None = None
        self.heading = Text(title, "strong", wraps=False)
        self.readout = OneLine("", "muted")
        self.readout.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.legend = Legend()
        self.empty = Text(self.tr("No values yet"), "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        sides = (2 * SPACE, 0, 2 * SPACE, 0)
        self._head = layouts.row(self.heading, (self.readout, 1), margins=sides)
        self.figure_button: FigureButton | None = None
        self._column = layouts.column(
            self._head,
            layouts.row(self.legend, margins=sides),
            (self.empty, 1),
            parent=self,
            spacing=SPACE,
        )
        self.setMinimumHeight(px(140))
        self._redraw = debounced(self, DRAW_DELAY_MS, self._draw)
        _make_plot_soon(self)

    @property
    def plot(self) -> LivePlot:
        """The drawing, made when it is first needed: it takes about 40 ms."""
        if self._plot is None:
            self._plot = LivePlot(self)
            self._plot.hovered.connect(self._on_hovered)
            self._plot.reset_requested.connect(self.reset_view)
            self._column.addWidget(self._plot, 1)
            self._plot.apply_style()
            self._describe()
            self._redraw.start()
        return self._plot

    # ── data and options ─────────────────────────────────────────────────────────────────────

    def set_series(self, name: str, steps: Steps, values: Values) -> None:
        """Show `values` over rising `steps` under `name`, replacing what it had."""
        is_new = name not in self._series
        self._series[name] = StepSeries(steps, values)
        if is_new:
            self._name_series()
        self._redraw.start()

    def append(self, name: str, steps: Steps, values: Values) -> None:
        """Add points; a step that exists already replaces all points from it on."""
        if name not in self._series:
            self.set_series(name, steps, values)
            return
        self._series[name].extend(steps, values)
        if not self._redraw.isActive():
            self._redraw.start()

    def remove(self, name: str) -> None:
        if self._series.pop(name, None) is not None:
            self._name_series()
            self._redraw.start()

    def clear(self) -> None:
        for name in list(self._series):
            self.remove(name)

    def names(self) -> list[str]:
        return list(self._series)

    def series(self, name: str) -> StepSeries:
        return self._series[name]

    def never_smooth(self, name: str) -> None:
        """Draw this series unsmoothed: it has few points, and each counts."""
        self._unsmoothed.add(name)
        self._redraw.start()

    def set_markers(self, markers: Sequence[Marker]) -> None:
        self.markers = tuple(markers)
        self._draw()

    def set_smoothing(self, points: int) -> None:
        """Draw the mean over this number of neighbours, with the values faint behind it."""
        self._smoothing = max(1, points)
        self._draw()

    def set_log(self, log: bool) -> None:
        """Use a logarithmic value axis; values that are not positive become gaps."""
        self._log = log
        self._draw()

    def set_percent(self, on: bool) -> None:
        """Write the values, which are proportions, in per cent."""
        if on != self._is_percent:
            self._is_percent = on
            self._draw()

    def set_clip(self, clip: bool) -> None:
        """Show the range of the middle 98 % of the values, so that outliers do not flatten it."""
        self._clip = clip
        self._draw()

    def set_window(self, steps: int) -> None:
        """Show only the last `steps`; 0 shows all."""
        self._window = max(0, steps)
        self._draw()

    def set_empty_text(self, text: str) -> None:
        """Set the text shown instead of the drawing while there is no value."""
        self.empty.setText(text)
        self._describe()

    def reset_view(self) -> None:
        self.plot.is_zoomed = False
        self._draw()

    def show_step(self, step: float) -> None:
        """Move the crosshair to `step`, for linked charts; NaN hides it."""
        self._step = step
        self._read()

    def draw_now(self) -> None:
        """Draw without delay, for pictures and tests."""
        self._redraw.stop()
        self._draw()

    def offer_figure(self, file_name: str, notices: Notices) -> None:
        """Offer the chart as a figure and its points as a table."""
        self._file = file_name
        self.figure_button = FigureButton(self.figure, notices)
        show_all = self.figure_button.menu().addAction(self.tr("Show &all"))
        show_all.triggered.connect(lambda _=False: self.reset_view())
        self.figure_button.offer_on(self)
        self._head.addWidget(self.figure_button)

    # ── chart ────────────────────────────────────────────────────────────────────────────────

    def chart(self) -> Chart:
        """The chart as it is drawn, in the window and for export."""
        lines = []
        for index, (name, series) in enumerate(self._series.items()):
            dots = len(series) <= MAX_DOTS
            line = Line(name, series.steps, series.values, index, dots=dots)
            if self._smoothing > 1 and len(series) > 2 and name not in self._unsmoothed:
                lines.append(replace(line, faint=True, dots=False))
                line = replace(line, y=series.smooth(self._smoothing))
            lines.append(line)
        x = Axis(self.tr("Step"), self._steps_shown(), integer=True)
        text, most = (percent_text, 1.0) if self._is_percent else (tick_text, math.inf)
        y = Axis(self._unit, self._values_shown(x), log=self._log, most=most, text=text)
        return Chart(x, y, tuple(lines), self.markers, value_text=self._value_text)

    def _steps_shown(self) -> tuple[float, float] | None:
        filled = [series.steps for series in self._series.values() if len(series)]
        if not filled:
            return None
        first = min(float(steps[0]) for steps in filled)
        last = max(float(steps[-1]) for steps in filled)
        return max(first, last - self._window) if self._window else first, last

    def _values_shown(self, x: Axis) -> tuple[float, float]:
        first = x.limits[0] if x.limits is not None else 0.0
        values = [
            item.values[np.searchsorted(item.steps, first) :] for item in self._series.values()
        ]
        middle = CLIPPED_FRACTION if self._clip else 1.0
        low, high = widen(*value_range(values, self._log, middle), 0.06)
        return (10.0**low, 10.0**high) if self._log else (low, high)

    def figure(self) -> Figure | None:
        """The chart as it is drawn, all of it or the span that is zoomed in on."""
        chart = self.chart()
        lines = tuple(replace(line, x=line.x.copy(), y=line.y.copy()) for line in chart.lines)
        if not any(len(line.x) for line in lines):
            return None
        is_zoomed = self._plot is not None and self._plot.is_zoomed
        smoothed = self.tr("Smoothed over {0} steps.").format(self._smoothing)
        return chart_figure(
            self._file,
            self._title,
            smoothed if self._smoothing > 1 else "",
            replace(chart, series=lines),
            self.plot.span() if is_zoomed else None,
        )

    def _draw(self) -> None:
        if self._plot is not None and self.isVisible():
            self._plot.show_chart(self.chart())
            self._read()
        self._describe()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.is_theme_change(event) or event.type() == QEvent.Type.FontChange:
            self._name_series()
            if self._plot is not None:
                self._plot.apply_style()

    def _name_series(self) -> None:
        names = self.names()[:MAX_LEGEND_ENTRIES] if len(self._series) > 1 else []
        rest = len(self._series) - len(names) if names else 0
        pens = {name: chart_pen(index) for index, name in enumerate(names)}
        self.legend.show_series(pens, self.tr("and %Ln more", "", rest) if rest else "")

    # ── crosshair ────────────────────────────────────────────────────────────────────────────

    def _on_hovered(self, step: float) -> None:
        self._step = step
        self._read()
        self.step_hovered.emit(step)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = horizontal_step(event)
        longest = max(self._series.values(), key=len, default=None)
        if event.key() == Qt.Key.Key_Escape and not math.isnan(self._step):
            self._on_hovered(math.nan)
        elif move and longest is not None and len(longest):
            steps, last = longest.steps, len(longest) - 1
            index = last
            if not math.isnan(self._step):
                index = clamp(int(np.searchsorted(steps, self._step)) + move, last)
            self._on_hovered(float(steps[index]))
        else:
            super().keyPressEvent(event)

    def _read(self) -> None:
        """Show the value of each series at the step under the crosshair, else the newest."""
        step = self._hovered_step()
        is_hovered = not math.isnan(step)
        step_text = numbers.count(round(step)) if is_hovered else ""
        points = {
            name: item.point_at(step if is_hovered else np.inf)
            for name, item in self._series.items()
        }
        if self._plot is not None:
            self._plot.show_crosshair(step, [point for point in points.values() if point])
        values = {name: self._point_text(point, step) for name, point in points.items()}
        if not self.legend.entries:
            value = next(iter(values.values()), "")
            template = self.tr("step {0}: {1}") if is_hovered else "{1}"
            self.readout.setText(template.format(step_text, value))
            return
        self.readout.setText(self.tr("step {0}").format(step_text) if is_hovered else "")
        self.legend.show_values(values)

    def _hovered_step(self) -> float:
        """The step under the crosshair; NaN without one, or if there is no step at all."""
        filled = [series.steps for series in self._series.values() if len(series)]
        if math.isnan(self._step) or not filled:
            return math.nan
        last = max(float(steps[-1]) for steps in filled)
        return float(min(max(round(self._step), 0), last))

    def _point_text(self, point: tuple[float, float] | None, step: float) -> str:
        if point is None:
            return "" if math.isnan(step) else self.tr("no value yet")
        point_step, value = point
        if math.isnan(step) or point_step == step:
            return self._value_text(value)
        text = self.tr("{0} (step {1})")
        return text.format(self._value_text(value), numbers.count(round(point_step)))

    def _value_text(self, value: float) -> str:
        if self._is_percent:
            return numbers.percent(value)
        return numbers.decimal(value, self._decimals)

    def _describe(self) -> None:
        has_values = any(len(series) for series in self._series.values())
        self.empty.setVisible(not has_values)
        sentences = [
            describe_series(name, series.steps, series.values, self._value_text)
            for name, series in self._series.items()
        ]
        self.setAccessibleName(self.tr("Curve of {0}").format(self._title))
        self.setAccessibleDescription(". ".join(sentences) if has_values else self.empty.text())
        if self._plot is not None:
            self._plot.setVisible(has_values)
            self._plot.setAccessibleName(self.accessibleName())
            self._plot.setAccessibleDescription(self.accessibleDescription())


_waiting: deque[LiveChart] = deque()  # charts without a plot


def _make_plot_soon(chart: LiveChart) -> None:
    """Make the plot of a chart, one in each round of the event loop."""
    _waiting.append(chart)
    if len(_waiting) == 1:
        QTimer.singleShot(0, _make_next_plot)


def _make_next_plot() -> None:
    chart = _waiting.popleft()
    if shiboken6.isValid(chart):
        _ = chart.plot
    if _waiting:
        QTimer.singleShot(0, _make_next_plot)
