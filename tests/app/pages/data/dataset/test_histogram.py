"""The histogram of lengths."""

import numpy as np

from app.pages.data.dataset.histogram import Histogram, length_bars
from app.pages.data.dataset.lengths import Lengths


def test_the_histogram_holds_every_row(qtbot) -> None:
    histogram = Histogram()
    qtbot.addWidget(histogram)
    for rows in ([3], [0, 1, 2], list(range(2_000)), [5] * 1_000 + [9_000]):
        lengths = Lengths(np.bincount(rows))
        histogram.show_lengths(lengths, 128)
        assert length_bars(lengths, 128)[0].sum() == len(rows)
        assert sum(bars.y.sum() for bars in histogram.chart.series) == len(rows)
        histogram.grab()
    histogram.show_lengths(None, 128)
    assert not histogram.accessibleDescription()
