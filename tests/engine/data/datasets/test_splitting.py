"""Rows are dealt out by chance that repeats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.columns.names import split_named
from engine.data.datasets.splitting import TEST, TRAIN, VALIDATION, draw_splits


@given(st.integers(0, 500), st.floats(0, 0.5), st.floats(0, 0.4), st.integers(0, 10))
def test_parts_have_their_shares(rows, dev, test, seed):
    parts, _ = draw_splits(rows, dev, test, seed)
    assert abs((parts == VALIDATION).sum() - rows * dev) <= 1
    assert abs((parts == TEST).sum() - rows * test) <= 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=300), st.integers(0, 10))
def test_a_balanced_split_keeps_the_share_of_each_label(labels, seed):
    numbers = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    parts, rare = draw_splits(len(labels), 0.2, 0.1, seed, numbers)
    for label in range(numbers.max() + 1):
        mine = parts[numbers == label]
        assert (mine == TRAIN).any()
        assert (mine == VALIDATION).sum() <= np.ceil(0.2 * len(mine))
        assert (mine == TEST).sum() <= np.ceil(0.1 * len(mine))
    assert rare == (np.bincount(numbers) == 1).sum()


def test_a_split_repeats_and_follows_its_seed():
    first, _ = draw_splits(1_000, 0.1, 0.1, 42)
    assert (first == draw_splits(1_000, 0.1, 0.1, 42)[0]).all()
    assert (first != draw_splits(1_000, 0.1, 0.1, 43)[0]).any()


def test_a_split_is_the_same_for_ever():
    assert np.flatnonzero(draw_splits(20, 0.25, 0, 42)[0]).tolist() == [0, 1, 4, 10, 17]


@pytest.mark.parametrize(
    "cell, part", [("train", "train"), (" Validation", "validation"), ("TEST", "test"), ("x", None)]
)
def test_parts_have_usual_spellings(cell, part):
    assert split_named(cell) == part
