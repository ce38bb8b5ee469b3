"""Distributions of a data set: lengths of its rows in tokens, and labels that are numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QSizePolicy

from app.pages.data.dataset.lengths import Lengths
from app.theme import SPACE, Role, px
from app.widgets.charts.chart import Axis, Bars, Chart, Marker
from app.widgets.charts.figure_menu import offer_chart
from app.widgets.charts.view import ChartView
from app.widgets.text import numbers
from engine.data.columns.numbers import parse_number
from engine.phrases import number_text

LENGTH_BARS, LABEL_BARS = 48, 24
AXIS_QUANTILE = 0.995  # length at which the axis ends; the last bar has the longer rows


class _Histogram(ChartView):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        offer_chart(self)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(px(60 * SPACE), px(36 * SPACE))


class LengthHistogram(_Histogram):
    """Rows by their length in tokens; longer rows than the max. length are marked."""

    def __init__(self) -> None:
        super().__init__("")
        self.setAccessibleName(self.tr("Lengths of the rows in tokens"))

    def show_lengths(self, lengths: Lengths | None, max_length: int) -> None:
        if lengths is None or not lengths.rows:
            self.chart = None
            self.setAccessibleDescription("")
            self.update()
            return
        bars, width = length_bars(lengths, max_length)
        starts = np.arange(len(bars)) * width
        end = len(bars) * width
        label = self.tr("max. length {0}").format(numbers.count(max_length))
        marker = Marker(max_length, Role.TEXT, label)
        fits = starts < max_length
        self.show_chart(
            Chart(
                Axis(limits=(0, end), integer=True),
                Axis(limits=(0, float(bars.max())), hidden=True),
                (
                    _bars(starts[fits], bars[fits], width, Role.CHART_1),
                    _bars(starts[~fits], bars[~fits], width, Role.WARN),
                ),
                (marker,) if max_length < end else (),
            )
        )
        sentence = self.tr("Median {0} tokens; maximum {1}.")
        self.setAccessibleDescription(
            sentence.format(numbers.count(lengths.median()), numbers.count(lengths.maximum))
        )


def length_bars(lengths: Lengths, max_length: int) -> tuple[NDArray[np.int64], int]:
    """Counts of the bars, and their width in tokens; the last bar includes all longer rows."""
    counts = lengths.counts
    end = (
        max(lengths.quantile(AXIS_QUANTILE), max_length if lengths.count_longer(max_length) else 8)
        + 1
    )
    width = max(-(-end // LENGTH_BARS), 1)
    bar_count = -(-end // width)
    covered = counts[: bar_count * width]
    padded = np.pad(covered, (0, bar_count * width - len(covered)))
    bars = padded.reshape(bar_count, width).sum(axis=1)
    bars[-1] += counts[len(padded) :].sum()
    return bars, width


class NumberHistogram(_Histogram):
    """Labels that are numbers, in bars of equal width from the lowest to the highest."""

    def __init__(self) -> None:
        super().__init__("")
        self.setAccessibleName(self.tr("Distribution of the numbers"))

    def show_numbers(self, labels: Mapping[str, int]) -> None:
        """Show the rows of each number; labels that are not numbers are left out."""
        pairs = [(parse_number(label), rows) for label, rows in labels.items()]
        valid = sorted((number, rows) for number, rows in pairs if number is not None)
        values = np.array([number for number, _ in valid])
        rows = np.array([rows for _, rows in valid])
        bars, edges = np.histogram(values, bins=LABEL_BARS, weights=rows)
        low, high = float(edges[0]), float(edges[-1])
        self.show_chart(
            Chart(
                Axis(limits=(low, high)),
                Axis(limits=(0, max(float(bars.max()), 1.0)), hidden=True),
                (_bars(edges[:-1], bars, (high - low) / LABEL_BARS, Role.CHART_1),),
            )
        )
        median = float(values[np.searchsorted(np.cumsum(rows), rows.sum() / 2)])
        sentence = self.tr("Range {0} to {1}; median {2}.")
        self.setAccessibleDescription(
            sentence.format(number_text(low), number_text(high), number_text(median))
        )


def _bars(starts: NDArray[Any], counts: NDArray[Any], width: float, role: Role) -> Bars:
    widths = np.full(len(starts), float(width))
    return Bars("", starts + width / 2, counts.astype(float), role=role, widths=widths)
