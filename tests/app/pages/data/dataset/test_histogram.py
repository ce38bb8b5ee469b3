"""The histogram of lengths."""

import numpy as np
import pytest

from app.pages.data.dataset.histogram import Histogram, _round_step
from app.pages.data.dataset.lengths import Lengths


def test_the_histogram_holds_every_row(qtbot) -> None:
    histogram = Histogram()
    qtbot.addWidget(histogram)
    for found in ([3], [0, 1, 2], list(range(2_000)), [5] * 1_000 + [9_000]):
        histogram.show_lengths(Lengths(np.bincount(found)), 128)
        bars, _ = histogram._bars()
        assert bars.sum() == len(found)
        histogram.grab()


@pytest.mark.parametrize("reach, most, step", [(8, 10, 1), (48, 6, 10), (500, 6, 100), (9, 2, 5)])
def test_the_axis_has_round_numbers(reach: int, most: float, step: int) -> None:
    assert _round_step(reach, most) == step
