"""The worst and best rows."""

import numpy as np

from engine.results.row_lists import extremes
from tests.engine.results.made import classified


def test_no_row_is_both_and_none_without_a_label_is_either() -> None:
    for count, worst, best in [(1, [3], [4]), (2, [3, 0], [4, 2]), (9, None, [])]:
        predictions = classified(
            ["good", None, "bad", "bad", "good"],
            ["bad", "good", "bad", "good", "good"],
            probability=np.array([0.6, 0.99, 0.7, 0.8, 0.9]),
        )
        found = extremes(predictions, count)
        assert found[0].tolist() == (worst or [3, 0, 2, 4]) and found[1].tolist() == best
