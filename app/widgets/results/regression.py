"""Predicted numbers against gold, and residuals."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.theme import Role
from app.translation import marked
from app.widgets.charts.chart import Axis, Bars, Chart, Line, Points, Zone
from app.widgets.results.chart_picture import ChartPicture
from app.widgets.text import numbers
from engine.results.conditions import Between
from engine.results.groups import by_width, groups
from engine.results.predictions import Predictions
from engine.results.row_figures import figure

DRAWN_POINTS = 4_000  # at most; a sample of more rows
BINS = 20


@dataclass(frozen=True)
class Binned:
    """Binned numbers: counts and rows of each bin, and the points of a scatter plot."""

    x: NDArray[np.float64]  # [drawn rows] gold
    y: NDArray[np.float64]  # predicted, or empty
    counts: tuple[int, ...]
    zones: tuple[tuple[float, float, Any], ...]


def _binned(predictions: Predictions, name: Any) -> tuple[tuple[float, float, Any, int], ...]:
    """From, to, conditions and count of each bin of a number of the rows."""
    values = figure(predictions, name)
    known = values[np.isfinite(values)]
    if not len(known):
        return ()
    low, high = float(known.min()), float(known.max())
    found = []
    for one in groups(predictions, by_width(predictions, name, BINS)):
        (condition,) = one.conditions
        assert isinstance(condition, Between)
        ends = (
            low if condition.least is None else condition.least,
            high if condition.most is None else condition.most,
        )
        found.append((*ends, one.conditions, one.count))
    return tuple(found)


def scatter(predictions: Predictions) -> Binned:
    """Gold and predicted of some rows, and bins of gold."""
    gold, predicted = figure(predictions, "gold"), figure(predictions, "predicted")
    known = np.flatnonzero(np.isfinite(gold) & np.isfinite(predicted))
    if len(known) > DRAWN_POINTS:
        known = np.random.default_rng(0).choice(known, DRAWN_POINTS, replace=False)
    bins = _binned(predictions, "gold")
    return Binned(
        gold[known].astype(np.float64),
        predicted[known].astype(np.float64),
        tuple(one[3] for one in bins),
        tuple(one[:3] for one in bins),
    )


def residuals(predictions: Predictions) -> Binned:
    """Bins of predicted less gold."""
    bins = _binned(predictions, "residual")
    nothing = np.empty(0)
    counts, zones = tuple(one[3] for one in bins), tuple(one[:3] for one in bins)
    return Binned(nothing, nothing, counts, zones)


class ScatterPicture(ChartPicture):
    """A point for each row; a stretch of gold selects its rows."""

    key = "scatter"
    title = marked("Predicted against gold")
    measure: ClassVar[Any] = staticmethod(scatter)

    def show_measured(self, measured: Binned) -> None:
        if not len(measured.x):
            return
        both = np.concatenate([measured.x, measured.y])
        low, high = float(both.min()), float(both.max())
        ends = np.array([low, high])
        chart = Chart(
            Axis(self.tr("Gold"), (low, high)),
            Axis(self.tr("Predicted"), (low, high)),
            (Points("", measured.x, measured.y, size=2.0), Line("", ends, ends, role=Role.MUTED)),
            zones=tuple(
                Zone(a, b, some, _sentence(self.tr("Gold {0} to {1}: %Ln row(s)", "", count), a, b))
                for (a, b, some), count in zip(measured.zones, measured.counts, strict=True)
            ),
        )
        self.show_chart(
            chart,
            self.tr("On the dashed line both are equal."),
            self.tr("Click a range of gold values to list its rows."),
        )


class ResidualPicture(ChartPicture):
    """A histogram of residuals; a bar selects its rows."""

    key = "residuals"
    title = marked("Residuals")
    measure: ClassVar[Any] = staticmethod(residuals)

    def show_measured(self, measured: Binned) -> None:
        if not measured.zones:
            return
        edges = np.array([zone[:2] for zone in measured.zones])
        counts = np.array(measured.counts, dtype=np.float64)
        chart = Chart(
            Axis(self.tr("Predicted minus gold"), (float(edges.min()), float(edges.max()))),
            Axis(self.tr("Rows"), (0, float(counts.max()))),
            (Bars("", edges.mean(axis=1), counts, widths=edges[:, 1] - edges[:, 0]),),
            zones=tuple(
                Zone(
                    a,
                    b,
                    some,
                    _sentence(self.tr("Residual {0} to {1}: %Ln row(s)", "", count), a, b),
                )
                for (a, b, some), count in zip(measured.zones, measured.counts, strict=True)
            ),
        )
        mean = float((edges.mean(axis=1) * counts).sum() / counts.sum())
        text = self.tr("The mean residual is about {0}.").format(numbers.decimal(mean, 3))
        self.show_chart(chart, text, self.tr("Click a bar to list its rows."))


def _sentence(template: str, low: float, high: float) -> str:
    return template.format(numbers.decimal(low, 2), numbers.decimal(high, 2))
