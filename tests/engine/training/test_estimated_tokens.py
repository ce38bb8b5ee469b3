"""The estimate of a run's memory counts the token rows that later batches read."""

import numpy as np
import pytest

from engine.training.estimate import extrapolate_distinct


@pytest.mark.parametrize("size", [0.25, 4, 30])
def test_distinct_tokens_of_a_longer_text_are_expected(size):
    random = np.random.default_rng(0)
    weights = 1 / np.arange(1, 30_001)
    tokens = random.choice(30_000, round(20_000 * max(1, size)), p=weights / weights.sum())
    counts = np.bincount(tokens[:20_000], minlength=30_000)
    actual = len(np.unique(tokens[: round(20_000 * size)]))
    assert extrapolate_distinct(counts, size) == pytest.approx(actual, rel=0.2)


def test_there_are_no_more_than_the_vocabulary():
    assert extrapolate_distinct(np.array([1, 1, 0]), 1e6) == 3
