"""Token counts of rows."""

import numpy as np

from app.pages.data.dataset.lengths import Lengths


def test_lengths_know_their_median_and_what_is_cut() -> None:
    lengths = Lengths(np.bincount([3, 3, 4, 5, 200]))
    assert (lengths.rows, lengths.median(), lengths.longest) == (5, 4, 200)
    assert lengths.cut_at(128) == 1
    assert lengths.cut_at(200) == 0
