"""Predicted numbers against gold, and residuals."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.theme import Role
from app.translation import marked, tr
from app.widgets.charts.chart import Axis, Bars, Chart, Line, Points, Zone
from app.widgets.results.picture import ChartPicture
from app.widgets.text import numbers
from engine.config.task import RowFigure
from engine.results.conditions import Between, Conditions
from engine.results.groups import by_width, groups
from engine.results.predictions import Predictions
from engine.results.row_figures import figure

MAX_POINTS = 4_000  # a sample is drawn if there are more rows
BINS = 20


class Bin(NamedTuple):
    """A range of a number of the rows, the conditions that select it, and its rows."""

    low: float
    high: float
    conditions: Conditions
    rows: int

    def zone(self, template: str) -> Zone:
        """Return the zone of this bin; `template` has its range as {0} and {1}."""
        text = template.format(numbers.decimal(self.low, 2), numbers.decimal(self.high, 2))
        return Zone(self.low, self.high, self.conditions, text)


def _bins(predictions: Predictions, name: RowFigure) -> tuple[Bin, ...]:
    values = figure(predictions, name)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return ()
    low, high = float(finite.min()), float(finite.max())
    bins = []
    for group in groups(predictions, by_width(predictions, name, BINS)):
        (condition,) = group.conditions
        assert isinstance(condition, Between)
        first = low if condition.least is None else condition.least
        last = high if condition.most is None else condition.most
        bins.append(Bin(first, last, group.conditions, group.count))
    return tuple(bins)


class Scatter(NamedTuple):
    """Gold and predicted numbers of some rows, float64 [drawn rows], and bins of gold."""

    gold: NDArray[np.float64]
    predicted: NDArray[np.float64]
    bins: tuple[Bin, ...]


def scatter(predictions: Predictions) -> Scatter:
    gold, predicted = figure(predictions, "gold"), figure(predictions, "predicted")
    rows = np.flatnonzero(np.isfinite(gold) & np.isfinite(predicted))
    if len(rows) > MAX_POINTS:
        rows = np.random.default_rng(0).choice(rows, MAX_POINTS, replace=False)
    x, y = (values[rows].astype(np.float64) for values in (gold, predicted))
    return Scatter(x, y, _bins(predictions, "gold"))


class ScatterPicture(ChartPicture):
    """A point for each row; a range of gold selects its rows."""

    key = "scatter"
    title = marked("Predicted against true numbers")
    measure: ClassVar[Any] = staticmethod(scatter)

    def show_measured(self, measured: Scatter) -> None:
        if not len(measured.gold):
            return
        both = np.concatenate([measured.gold, measured.predicted])
        low, high = float(both.min()), float(both.max())
        ends = np.array([low, high])
        chart = Chart(
            Axis(self.tr("True number"), (low, high)),
            Axis(self.tr("Predicted"), (low, high)),
            (Points("", *measured[:2], size=2.0), Line("", ends, ends, role=Role.MUTED)),
            zones=tuple(
                item.zone(tr("True number {0} to {1}: %Ln row(s)", item.rows))
                for item in measured.bins
            ),
        )
        self.show_chart(
            chart,
            self.tr("On the dashed line, predicted and true number are equal."),
            self.tr("Click a range of true numbers to list its rows."),
        )


class ResidualPicture(ChartPicture):
    """A histogram of residuals; a bar selects its rows."""

    key = "residuals"
    title = marked("Residuals")
    measure: ClassVar[Any] = staticmethod(lambda predictions: _bins(predictions, "residual"))

    def show_measured(self, measured: tuple[Bin, ...]) -> None:
        if not measured:
            return
        edges = np.array([item[:2] for item in measured])
        counts = np.array([item.rows for item in measured], dtype=np.float64)
        chart = Chart(
            Axis(self.tr("Predicted minus true number"), (float(edges.min()), float(edges.max()))),
            Axis(self.tr("Rows"), (0, float(counts.max()))),
            (Bars("", edges.mean(axis=1), counts, widths=edges[:, 1] - edges[:, 0]),),
            zones=tuple(
                item.zone(tr("Residual {0} to {1}: %Ln row(s)", item.rows)) for item in measured
            ),
        )
        mean = float((edges.mean(axis=1) * counts).sum() / counts.sum())
        text = self.tr("The mean residual is about {0}.").format(numbers.decimal(mean, 3))
        self.show_chart(chart, text, self.tr("Click a bar to list its rows."))
