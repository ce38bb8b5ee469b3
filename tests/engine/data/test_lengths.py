"""Token lengths of a sample of inputs."""

import pytest

from engine.data.lengths import Lengths


def test_the_typical_length_covers_99_percent_of_inputs():
    assert Lengths((20,) * 995 + (400,) * 5).percentile_99 == 20
    assert Lengths((20,) * 98 + (400,) * 2).percentile_99 == 400
    assert Lengths((3,)).percentile_99 == 3


def test_the_fraction_of_inputs_above_a_length():
    lengths = Lengths((30,) * 990 + (400,) * 10)
    assert lengths.fraction_above(30) == pytest.approx(0.01)
    assert lengths.fraction_above(400) == 0
    assert lengths.fraction_unread(200) == pytest.approx(10 * 200 / (30 * 990 + 400 * 10))
    assert lengths.fraction_unread(400) == 0
