"""A length that suits the data."""

import pytest

from app.pages.train.lengths import Lengths


def test_the_length_that_is_suggested_holds_99_of_100_inputs() -> None:
    lengths = Lengths(tuple(sorted([30] * 990 + [400] * 10)))
    assert lengths.suggested(512) in (400, 32)
    assert Lengths((20,) * 995 + (400,) * 5).suggested(512) == 24
    assert Lengths((100,) * 100).suggested(512) == 112
    assert Lengths((900,) * 100).suggested(512) == 512
    assert Lengths((3,)).suggested(512) == 16
    assert lengths.share_above(30) == pytest.approx(0.01)
