"""Points of a search for smaller models: their chart, names and columns."""

from collections.abc import Callable

import numpy as np

from app.translation import tr, translated
from app.widgets.charts.chart import Axis, Chart, Line, Points, Series
from app.widgets.results.intervals import with_ends
from app.widgets.tables import Column
from app.widgets.text import numbers, run_texts
from engine.messages.explore.text import PRECISIONS
from engine.messages.shrinking import Cost, ShrinkPoint, Shrunk
from engine.results.intervals import Interval

MARGIN = 1.08  # of the horizontal axis beyond the last point
MB = 1e6


def points_chart(shrunk: Shrunk, kind: Cost) -> Chart:
    """Score against cost; the models that no other beats are joined, with their intervals."""
    unit = 1.0 if kind == "milliseconds" else MB
    frontier, metric = shrunk.frontier(kind), f"validation_{shrunk.metric}"

    def column(points: list[ShrinkPoint], value: Callable[[ShrinkPoint], float]) -> np.ndarray:
        return np.array([value(point) for point in points], dtype=np.float64)

    def x(points: list[ShrinkPoint]) -> np.ndarray:
        return column(points, lambda point: point.cost(kind) / unit)

    def y(points: list[ShrinkPoint]) -> np.ndarray:
        return column(points, lambda point: point.score)

    line = Line(
        tr("Best at its cost, with 95 % intervals"),
        x(frontier),
        y(frontier),
        low=column(frontier, lambda point: point.low),
        high=column(frontier, lambda point: point.high),
        dots=True,
    )
    groups = {
        tr("Smaller models"): [p for p in shrunk.points if not p.is_teacher],
        tr("This run"): [p for p in shrunk.points if p.is_teacher],
    }
    series: list[Series] = [line]
    for index, (name, points) in enumerate(groups.items()):
        if points:
            series.append(Points(name, x(points), y(points), color=index + 1))
    ends = [end for point in shrunk.points for end in (point.low, point.high)]
    title = tr("Processor time per text (ms)") if kind == "milliseconds" else tr("Size (MB)")
    margin = 0.05 * (max(ends) - min(ends) or 1.0)
    return Chart(
        x=Axis(title, limits=(0.0, MARGIN * float(x(list(shrunk.points)).max()))),
        y=Axis(
            run_texts.metric_heading(metric),
            limits=(min(ends) - margin, max(ends) + margin),
            text=lambda value, _: run_texts.metric_value(metric, value),
        ),
        series=tuple(series),
    )


def point_name(point: ShrinkPoint) -> str:
    """Name of a model, and its precision if that is reduced."""
    name = tr("This run") if point.is_teacher else translated(point.name)
    return name if point.computed == "float32" else f"{name}, {PRECISIONS[point.computed]}"


def point_columns(shrunk: Shrunk) -> list[Column[ShrinkPoint]]:
    metric = f"validation_{shrunk.metric}"
    frontier = shrunk.frontier()

    def score(point: ShrinkPoint) -> str:
        figure = Interval(point.score, point.low, point.high)
        return with_ends(figure, lambda value: run_texts.metric_value(metric, value))

    def speed(point: ShrinkPoint) -> str:
        text = numbers.decimal(point.times, 1)
        if point.slowest == point.fastest:
            return text
        ends = numbers.decimal(point.slowest, 1), numbers.decimal(point.fastest, 1)
        return tr("{0} ({1} to {2})").format(text, *ends)

    return [
        Column[ShrinkPoint](tr("Model"), point_name, tooltip=point_name),
        Column(run_texts.metric_heading(metric), score, value=lambda p: p.score, align_right=True),
        Column(tr("Times as fast"), speed, value=lambda p: p.times, align_right=True),
        Column(
            tr("ms per text"),
            lambda p: numbers.decimal(p.milliseconds, 2),
            value=lambda p: p.milliseconds,
            align_right=True,
            meaning=tr("Processor time on this machine, in turns with this run."),
        ),
        Column(
            tr("Size"), lambda p: numbers.size(p.bytes), value=lambda p: p.bytes, align_right=True
        ),
        Column(
            tr("Best at its cost"),
            lambda p: tr("yes") if p in frontier else "",
            value=lambda p: p in frontier,
            meaning=tr("No other model is as fast and has a better score."),
        ),
    ]
