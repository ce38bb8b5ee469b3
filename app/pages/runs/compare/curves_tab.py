"""Curves of several runs in one chart: by steps, epochs, tokens or time; smoothed; as group means
with confidence intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtWidgets import QComboBox, QWidget

from app.pages.runs.columns import column_info, known_columns
from app.pages.runs.compare.state import (
    AXES,
    CompareState,
    Curves,
    differing_columns,
    distinct_names,
    x_values,
)
from app.pages.runs.rows import RunRow
from app.theme import SPACE, colour, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.charts.chart import Axis, Chart, Floats, Line, percent_text, tick_text
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.legend import Legend
from app.widgets.charts.painting import chart_figure, line_pen
from app.widgets.charts.series import StepSeries
from app.widgets.charts.view import ZoomChart
from app.widgets.forms.controls import ComboBox, Switch
from app.widgets.page import Card
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import OneLine, Text
from engine.config.tasks import metric_limits
from engine.results.significance import t_critical
from engine.runs.pace import Pace

SMOOTHINGS = (1, 9, 49, 249)  # points; 1 is off
MAX_GRID_POINTS = 400  # to average the curves of a group
PREFERRED_METRICS = ("validation_f1", "validation_accuracy", "validation_loss", "loss")


@dataclass(frozen=True)
class CurveStyle:
    """The columns that colour and dash the curves."""

    colour: str  # key of a column; “”: a colour for each run
    dash: str = ""
    as_means: bool = False  # draw the mean and 95 % interval of each group instead of runs


class CurvesTab(QWidget):
    """A chart with its options above and the names of its lines below."""

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self._state = state
        self._curves: Curves | None = None
        self.metric_box, self.axis_box = _choice(tr("Metric")), _choice(tr("Horizontal axis"))
        self.colour_box, self.dash_box = _choice(tr("Colour by")), _choice(tr("Dashes by"))
        self.smoothing = buttons.Segments(
            [tr("off"), *map(numbers.count, SMOOTHINGS[1:])], tr("Smoothing (points)")
        )
        self.smoothing.choose(0)
        self.log = Switch(tr("Log scale"))
        self.means = Switch(tr("Mean and 95 % band"))
        self.view = ZoomChart(tr("Curves of the compared runs"))
        self.legend = Legend()
        self.readout = OneLine("", "muted")
        self.note = Text("", "muted")
        self.figure_button = FigureButton(self.figure, state.studio.notices)
        self.figure_button.offer_on(self.view)
        titles = tr("Step"), tr("Epoch"), tr("Tokens seen"), tr("Training time")
        for title, key in zip(titles, AXES, strict=True):
            self.axis_box.addItem(title, key)
        self._fill_columns()
        self._lay_out()
        state.names_read.connect(self._on_names)
        state.curves_read.connect(self._on_read)
        state.paces_read.connect(self.draw)
        state.changed.connect(self._on_changed)
        self.metric_box.activated.connect(self._request_curves)
        for box in (self.axis_box, self.colour_box, self.dash_box):
            box.activated.connect(self.draw)
        self.smoothing.chosen.connect(self.draw)
        for switch in (self.log, self.means):
            switch.toggled.connect(self.draw)
        self.view.hovered.connect(lambda _, text: self.readout.setText(text))
        state.read_names()

    def _lay_out(self) -> None:
        first, second = layouts.wrap(), layouts.wrap()
        for row, name, control in (
            (first, tr("Metric"), self.metric_box),
            (first, tr("over"), self.axis_box),
            (first, tr("Smoothing"), self.smoothing),
            (second, tr("Colour by"), self.colour_box),
            (second, tr("Dashes by"), self.dash_box),
        ):
            row.addLayout(layouts.row(Text(name, "muted", wraps=False), control, spacing=2 * SPACE))
        layouts.extend(first, layouts.STRETCH, self.figure_button)
        for switch in (self.means, self.log):
            text = Text(switch.accessibleName(), wraps=False)
            second.addLayout(layouts.row(switch, text, spacing=2 * SPACE))
        card = Card(padding=3 * SPACE)
        layouts.extend(card.body, (self.view, 1), self.readout, self.legend)
        layouts.tab(self, first, second, (card, 1), self.note, spacing=2 * SPACE)

    def _fill_columns(self) -> None:
        self.colour_box.addItem(tr("Run"), "")
        self.dash_box.addItem(tr("None"), "")
        for info in known_columns(differing_columns(self._state.rows)):
            for box in (self.colour_box, self.dash_box):
                box.addItem(info.title(), info.key)

    def _on_names(self, counts: Mapping[str, int]) -> None:
        """Keep the metric; otherwise show the preferred one that most runs have."""
        previous = self.metric_box.currentData()
        self.metric_box.clear()
        for name in counts:
            self.metric_box.addItem(run_texts.metric_heading(name), name)
        preferred = [name for name in PREFERRED_METRICS if name in counts]
        default = max(preferred, key=lambda name: counts[name], default="")
        chosen = previous if previous in counts else default
        self.metric_box.setCurrentIndex(max(0, self.metric_box.findData(chosen)))
        self._request_curves()

    def _request_curves(self) -> None:
        if self.metric_box.currentData():
            self._state.read_curves(self.metric_box.currentData())
        else:
            self.note.setText(tr("None of these runs has recorded a metric yet."))

    def _on_read(self, curves: Curves) -> None:
        self._curves = curves
        self.draw()

    def _on_changed(self) -> None:
        self._state.paces = None  # a run has taken more steps
        self._request_curves()

    def draw(self) -> None:
        """Draw the curves with the chosen options."""
        axis = self.axis_box.currentData()
        if axis in ("tokens", "time") and self._state.paces is None:
            self._state.read_paces()
            self.note.setText(tr("Reading the events of the runs…"))
            return
        if self._curves is None:
            return
        chart, missing_count = self.chart()
        self.view.show_chart(chart)
        pens = {line.name: line_pen(line, colour, len(chart.lines)) for line in chart.lines[:12]}
        rest = len(chart.lines) - len(pens)
        self.legend.show_series(pens, tr("and %Ln more", rest) if rest > 0 else "")
        text = tr("%Ln run(s) not drawn: this metric or axis was not recorded.", missing_count)
        self.note.setText(text if missing_count > 0 else "")

    def chart(self) -> tuple[Chart, int]:
        """The chart, and the number of runs that lack the metric or the axis."""
        assert self._curves is not None
        style = CurveStyle(
            self.colour_box.currentData() or "",
            self.dash_box.currentData() or "",
            self.means.isChecked(),
        )
        rows, curves = self._state.rows, self._curves
        smoothing = SMOOTHINGS[max(0, self.smoothing.choice())]
        axis, paces = self.axis_box.currentData(), self._state.paces
        lines = chart_lines(rows, curves, axis, smoothing, style, paces)
        drawn_count = len(chart_lines(rows, curves, axis, 1, CurveStyle(""), paces))
        name = curves.name
        heading = run_texts.metric_heading(name)
        x_title = tr("Minutes") if axis == "time" else self.axis_box.currentText()
        chart = Chart(
            Axis(x_title, integer=axis == "step"),
            Axis(
                heading,
                log=self.log.isChecked(),
                text=percent_text if run_texts.is_share(name) else tick_text,
            ),
            tuple(lines),
            value_text=lambda value: run_texts.metric_value(name, value),
        )
        return chart, len(rows) - drawn_count

    def figure(self) -> Figure | None:
        """The current chart for export."""
        if self._curves is None or self.view.chart is None or not self.view.chart.lines:
            return None
        texts = [tr("%Ln run(s)", len(self._state.rows))]
        smoothing = SMOOTHINGS[max(0, self.smoothing.choice())]
        if smoothing > 1:
            texts.append(tr("smoothed over {0} points").format(smoothing))
        if self.means.isChecked():
            texts.append(tr("mean of each group with the 95 % interval of the mean (t)"))
        caption = f"{', '.join(texts)}."
        name = f"compare-{self._curves.name}".replace("_", "-")
        title = run_texts.metric_heading(self._curves.name)
        return chart_figure(name, title, caption, self.view.chart, self.view.span)


def chart_lines(
    rows: Sequence[RunRow],
    curves: Curves,
    axis: str,
    smoothing: int,
    style: CurveStyle,
    paces: dict[str, Pace] | None = None,
) -> list[Line]:
    """A line for each run that has the metric, or for each group of them."""
    result: list[tuple[RunRow, Floats, Floats]] = []
    for row in rows:
        if row.id not in curves.points:
            continue
        steps, values = curves.points[row.id]
        x = x_values(axis, row, steps, (paces or {}).get(row.id))
        if x is None:
            continue
        y = StepSeries(x, values).smooth(smoothing) if smoothing > 1 else values
        result.append((row, x / 60 if axis == "time" else x, y))
    names = dict(zip((row.id for row in rows), distinct_names(rows), strict=True))
    colours = _indices(rows, style.colour)
    dashes = _indices(rows, style.dash) if style.dash else {row.id: 0 for row in rows}
    if not style.as_means:
        return [
            Line(names[row.id], x, y, colours[row.id], dash=dashes[row.id], key=row.id)
            for row, x, y in result
        ]
    groups: dict[tuple[int, int], list[tuple[RunRow, Floats, Floats]]] = {}
    for item in result:
        groups.setdefault((colours[item[0].id], dashes[item[0].id]), []).append(item)
    limits = metric_limits(curves.name)
    return [_mean_line(members, style, limits, *key) for key, members in groups.items()]


def _indices(rows: Sequence[RunRow], key: str) -> dict[str, int]:
    """Index of each run, or of its value in a column."""
    info = column_info(key)
    if info is None:
        return {row.id: index for index, row in enumerate(rows)}
    texts: dict[str, int] = {}
    return {row.id: texts.setdefault(repr(info.row_value(row)), len(texts)) for row in rows}


def _mean_line(
    members: Sequence[tuple[RunRow, Floats, Floats]],
    style: CurveStyle,
    limits: tuple[float, float],
    color: int,
    dash: int,
) -> Line:
    """Mean over the range that all curves cover, with its 95 % interval (Student's t)."""
    first = max(float(x[0]) for _, x, _ in members)
    last = min(float(x[-1]) for _, x, _ in members)
    xs = np.unique(np.concatenate([x for _, x, _ in members]))
    xs = xs[(xs >= first) & (xs <= last)]
    grid = xs if len(xs) <= MAX_GRID_POINTS else np.linspace(first, last, MAX_GRID_POINTS)
    values = np.stack([np.interp(grid, x, y) for _, x, y in members])  # [runs, points]
    n = len(members)
    mean = values.mean(axis=0)
    name = _group_name(members[0][0], style, n)
    if n < 2:
        return Line(name, grid, mean, color, dash=dash)
    half = t_critical(n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    low, high = (np.clip(end, *limits) for end in (mean - half, mean + half))
    return Line(name, grid, mean, color, dash=dash, low=low, high=high)


def _group_name(row: RunRow, style: CurveStyle, runs: int) -> str:
    texts = [
        f"{info.title()} {info.text(row) or tr('none')}"
        for info in known_columns((style.colour, style.dash))
    ]
    return f"{' · '.join(texts) or row.name} (n = {runs})"


def _choice(name: str) -> QComboBox:
    box = ComboBox(name)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    box.setMaximumWidth(px(64 * SPACE))
    return box
