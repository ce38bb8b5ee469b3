"""A chart as data: axes, series, markers and zones. No drawing, no widgets.

The same `Chart` is painted in the window (`charts.view`), drawn live by pyqtgraph
(`charts.live_plot`) and saved as a figure (`charts.painting`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLocale

from app.theme import Role
from app.translation import tr
from app.widgets.text import numbers

Floats = NDArray[np.floating[Any]]
TICKS = 6
DIGITS, MAX_DIGITS = 4, 15  # of the label of a tick
FACTOR = 16  # points of one level of detail that become two of the next
MAX_EXACT_POINTS = 4096  # the range of a longer line is read from its levels
SCIENTIFIC_BELOW, GROUPED_FROM, SHORT_FROM = 1e-3, 1e4, 1e6  # labels 5e-5, 12,000, 4.4 M


def tick_text(value: float, digits: int = DIGITS) -> str:
    """Short text in the user's notation: 0.25, 3e-5, 12,000, 4.4 M."""
    if digits == DIGITS and abs(value) >= SHORT_FROM:
        return numbers.large_count(value)
    if digits < 2 * DIGITS and abs(value) >= GROUPED_FROM:
        return numbers.count(round(value))
    if value and abs(value) < SCIENTIFIC_BELOW:
        power = math.floor(math.log10(abs(value)) + 1e-9)
        return f"{QLocale().toString(value / 10.0**power, 'g', digits)}e{power}"
    return QLocale().toString(value, "g", digits)


def percent_text(value: float, digits: int = DIGITS) -> str:
    """Short text of a proportion: 97.5 %."""
    return f"{QLocale().toString(round(100 * value, MAX_DIGITS - 3), 'g', digits)} %"


@dataclass(frozen=True)
class Axis:
    """One axis. `limits` default to the range of the data; on a logarithmic axis they are values,
    not decades. An `integer` axis, such as one of steps, has ticks only at integers. An axis has no
    tick above `most`, such as 1 for a fraction.
    """

    title: str = ""
    limits: tuple[float, float] | None = None
    log: bool = False
    integer: bool = False
    hidden: bool = False
    most: float = math.inf
    text: Callable[[float, int], str] = field(default=tick_text, compare=False)

    def ticks(self, low: float, high: float, count: int = TICKS) -> list[float]:
        """Positions of ticks between two positions; positions of a logarithmic axis are decades."""
        if self.hidden:
            return []
        if self.log:
            return log_ticks(low, high, count)
        return ticks(low, min(high, self.most), count, self.integer)

    def labels(self, ticks: Sequence[float]) -> list[str]:
        """The texts of ticks, with as many digits as make them differ."""
        values = [10**tick if self.log else tick for tick in ticks]
        texts: list[str] = []
        for digits in range(DIGITS, MAX_DIGITS):
            texts = [self.text(value, digits) for value in values]
            if len(set(texts)) == len(texts):
                break
        return texts


@dataclass(frozen=True)
class Series:
    """Values over x. `color` is the index of a chart colour with its dashes; `role` replaces it.

    Series without a name are not in the legend.
    """

    name: str
    x: Floats
    y: Floats
    color: int = 0
    role: Role | None = None
    key: str = ""  # of the subject of the series, such as the id of a run
    low: Floats | None = None  # ends of a band around a line, or of the error bars of bars
    high: Floats | None = None


@dataclass(frozen=True)
class Line(Series):
    """A curve over rising `x`; NaN in `y` is a gap. With `role` a thin dashed reference line."""

    dash: int = 0  # shifts the dashes of the colour
    faint: bool = False  # drawn pale, behind the others, and not in the legend
    dots: bool = False  # a dot at each point

    @cached_property
    def levels(self) -> list[tuple[Floats, Floats]]:
        """Levels of detail: all points, then ever fewer with the minima and maxima of spans."""
        levels = [(self.x, self.y)]
        while len(levels[-1][0]) > 4 * FACTOR * FACTOR:
            levels.append(peaks(*levels[-1], FACTOR))
        return levels

    def values_between(self, first: float, last: float) -> Floats:
        """Values in view, including the band; only minima and maxima if the line is long."""
        if self.low is not None and self.high is not None:
            view = slice(*np.searchsorted(self.x, [first, last]))
            return np.concatenate([self.low[view], self.high[view], self.y[view]])
        x, y = self.levels[-1] if len(self.x) > MAX_EXACT_POINTS else (self.x, self.y)
        start, end = np.searchsorted(x, [first, last])
        return y[start : end + 1]

    def thin(self, first: float, last: float, columns: float) -> tuple[Floats, Floats]:
        """The points in view and one on either side, about two per column of pixels."""
        points = self.x, self.y
        for level in reversed(self.levels):
            start, end = np.searchsorted(level[0], [first, last])
            part = slice(max(0, int(start) - 1), int(end) + 1)
            points = level[0][part], level[1][part]
            if len(points[0]) >= 2 * columns:
                break
        factor = len(points[0]) // max(1, int(columns))
        return peaks(*points, factor) if factor > 2 else points


@dataclass(frozen=True)
class Points(Series):
    """A scatter of points with a shape for each colour; `size` is their radius in pixels."""

    size: float = 5.0


@dataclass(frozen=True)
class Bars(Series):
    """Bars from zero, centred on `x`."""

    widths: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Marker:
    """A vertical line; `label` is painted at its top."""

    x: float
    role: Role = Role.BAD
    label: str = ""
    tooltip: str = ""


@dataclass(frozen=True)
class Zone:
    """A span of the x axis that can be clicked, with a sentence and what it selects."""

    low: float
    high: float
    selection: Any
    sentence: str


@dataclass(frozen=True)
class Span:
    """The visible part of both axes; of a logarithmic axis in decades."""

    left: float
    right: float
    low: float
    high: float


@dataclass(frozen=True)
class Chart:
    """A chart as data. `value_text` formats a value that is read off the chart."""

    x: Axis
    y: Axis
    series: tuple[Series, ...] = ()
    markers: tuple[Marker, ...] = ()
    zones: tuple[Zone, ...] = ()
    value_text: Callable[[float], str] = field(default=numbers.decimal, compare=False)

    @property
    def lines(self) -> list[Line]:
        return [line for line in self.series if isinstance(line, Line)]

    def span(self, left: float | None = None, right: float | None = None) -> Span:
        """Range of the whole chart, or of its part between two values of x."""
        filled = [item for item in self.series if len(item.x)]
        first, last = self.x.limits or (
            (min(float(item.x[0]) for item in filled), max(float(item.x[-1]) for item in filled))
            if filled
            else (0.0, 1.0)
        )
        first, last = first if left is None else left, last if right is None else right
        last = last if last > first else first + 1
        if self.y.limits is not None:
            low, high = self.y.limits
            if self.y.log:
                low, high = math.log10(low), math.log10(high)
            return Span(first, last, low, high if high > low else low + 1)
        values = [
            item.values_between(first, last) if isinstance(item, Line) else item.y
            for item in filled
        ]
        return Span(first, last, *widen(*value_range(values, self.y.log)))


def value_range(
    values: Sequence[Floats], log: bool = False, middle: float = 1.0
) -> tuple[float, float]:
    """Minimum and maximum of the finite values, or of their `middle` fraction; log10 if `log`."""
    masks = [np.isfinite(v) & (v > 0) if log else np.isfinite(v) for v in values]
    pairs = list(zip(values, masks, strict=True))
    if middle < 1:
        finite = np.concatenate([np.empty(0), *(v[mask] for v, mask in pairs)])
        rest = 50 * (1 - middle)
        low, high = np.percentile(finite, [rest, 100 - rest]) if len(finite) else (np.inf, -np.inf)
    else:
        low = min((v.min(where=mask, initial=np.inf) for v, mask in pairs), default=np.inf)
        high = max((v.max(where=mask, initial=-np.inf) for v, mask in pairs), default=-np.inf)
    if low > high:
        return 0.0, 1.0
    if log:
        low, high = np.log10(low), np.log10(high)
    if high <= low:
        margin = abs(low) * 0.1 or 0.5
        low, high = low - margin, high + margin
    return float(low), float(high)


def widen(low: float, high: float, fraction: float = 0.05) -> tuple[float, float]:
    """Add a margin to both ends of a range; below 0 only if there are values below."""
    margin = fraction * (high - low)
    return (max(0.0, low - margin) if low >= 0 else low - margin), high + margin


def peaks(x: Floats, y: Floats, factor: int) -> tuple[Floats, Floats]:
    """The minimum and maximum of each `factor` points, in their order; NaN if all are NaN."""
    full = len(x) // factor * factor
    positions, values = x[:full].reshape(-1, factor), y[:full].reshape(-1, factor)
    low = np.where(np.isnan(values), np.inf, values).argmin(axis=1)
    high = np.where(np.isnan(values), -np.inf, values).argmax(axis=1)
    rows = np.arange(len(positions))
    first, second = np.minimum(low, high), np.maximum(low, high)
    new_x = np.stack([positions[rows, first], positions[rows, second]], axis=1).ravel()
    new_y = np.stack([values[rows, first], values[rows, second]], axis=1).ravel()
    return np.concatenate([new_x, x[full:]]), np.concatenate([new_y, y[full:]])


def ticks(low: float, high: float, count: int = TICKS, integer: bool = False) -> list[float]:
    """Round numbers in a range: 1, 2 or 5 times a power of ten apart.

    At most `count` steps, but at least two numbers, if there are two integers with `integer`.
    """
    raw = (high - low) / max(1, count)
    if not math.isfinite(raw) or raw <= 0:
        return []
    raw = max(raw, float(integer))
    power = math.floor(math.log10(raw))
    steps = [times * 10.0**n for n in (power - 1, power, power + 1) for times in (1, 2, 5)]
    first = next(n for n, step in enumerate(steps) if step >= raw * (1 - 1e-9))
    marks: list[float] = []
    for step in reversed(steps[: first + 1]):
        if integer and step < 1:
            break
        start, end = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        marks = [n * step for n in range(start, end + 1)]
        if len(marks) > 1:
            break
    return marks


def log_ticks(low: float, high: float, count: int = TICKS) -> list[float]:
    """Decades in a range of decades; in a short one also 2 and 5 times a power of ten.

    At least two positions.
    """
    count = max(2, count)
    for digits in ((1,), (1, 2, 5)):
        powers = range(math.floor(low), math.ceil(high) + 1)
        candidates = (power + math.log10(digit) for power in powers for digit in digits)
        positions = [position for position in candidates if low <= position <= high]
        if len(positions) >= 3:
            return positions[:: -(-len(positions) // count)]
    return [math.log10(value) for value in ticks(10**low, 10**high, count) if value > 0]


def describe_series(
    name: str, x: Floats, y: Floats, value_text: Callable[[float], str] = numbers.decimal
) -> str:
    """A series in a sentence: first and last value, minimum and maximum, gaps."""
    finite = np.isfinite(y)
    if not finite.any():
        return tr("{0}: no values yet").format(name)
    first, last = int(finite.argmax()), len(y) - 1 - int(finite[::-1].argmax())
    lowest = int(np.where(finite, y, np.inf).argmin())
    highest = int(np.where(finite, y, -np.inf).argmax())
    texts = [
        text
        for i in (first, last, lowest, highest)
        for text in (value_text(float(y[i])), numbers.count(round(float(x[i]))))
    ]
    template = tr(
        "{0}: from {1} at step {2} to {3} at step {4}; lowest {5} at step {6}, "
        "highest {7} at step {8}"
    )
    text = template.format(name, *texts)
    gaps = int(np.count_nonzero(finite[:-1] & ~finite[1:]) + (not finite[0]))
    return text + tr("; %Ln point(s) not finite", gaps) if gaps else text
