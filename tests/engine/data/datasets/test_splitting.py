"""Rows are dealt out by chance that repeats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.columns.names import split_from_name
from engine.data.datasets.splitting import (
    TEST,
    TRAIN,
    VALIDATION,
    count_grouped_rows,
    draw_splits,
    group_rows,
)
from tests.often import tries


@given(st.integers(0, 500), st.floats(0, 0.5), st.floats(0, 0.4), st.integers(0, 10))
@tries(100)
def test_parts_have_their_shares(rows, dev, test, seed):
    parts, _ = draw_splits(rows, dev, test, seed)
    assert abs((parts == VALIDATION).sum() - rows * dev) <= 1
    assert abs((parts == TEST).sum() - rows * test) <= 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=300), st.integers(0, 10))
@tries(100)
def test_a_balanced_split_keeps_the_share_of_each_label(labels, seed):
    numbers = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    parts, rare = draw_splits(len(labels), 0.2, 0.1, seed, numbers)
    for label in range(numbers.max() + 1):
        mine = parts[numbers == label]
        assert (mine == TRAIN).any()
        assert (mine == VALIDATION).sum() <= np.ceil(0.2 * len(mine))
        assert (mine == TEST).sum() <= np.ceil(0.1 * len(mine))
    assert rare == (np.bincount(numbers) == 1).sum()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), min_size=1, max_size=200),
    st.integers(0, 10),
)
@tries(100)
def test_groups_stay_together(rows, seed):
    labels = np.unique([label for label, _ in rows], return_inverse=True)[1].astype(np.int32)
    groups = np.unique([group for _, group in rows], return_inverse=True)[1].astype(np.int32)
    parts, _ = draw_splits(len(rows), 0.2, 0.1, seed, labels, groups)
    for group in range(groups.max() + 1):
        assert len(set(parts[groups == group])) == 1
    for label in range(labels.max() + 1):
        assert (parts[labels == label] == TRAIN).any()


def test_groups_of_one_change_nothing():
    labels = np.arange(300, dtype=np.int32) % 3
    groups = np.arange(300, dtype=np.int32)[::-1].copy()
    plain, _ = draw_splits(300, 0.2, 0.1, 7, labels)
    assert (plain == draw_splits(300, 0.2, 0.1, 7, labels, groups)[0]).all()
    groups[0] = groups[3]  # two rows with the same label
    grouped, _ = draw_splits(300, 0.2, 0.1, 7, labels, groups)
    assert (plain != grouped).sum() <= 4


def test_fractions_and_proportions_are_kept_if_groups_allow():
    random = np.random.default_rng(0)
    groups = np.sort(random.integers(0, 400, 1_000)).astype(np.int32)
    labels = (groups % 4).astype(np.int32)
    parts, _ = draw_splits(1_000, 0.1, 0.1, 42, labels, groups)
    for label in range(4):
        mine = parts[labels == label]
        for split in (VALIDATION, TEST):
            assert abs((mine == split).sum() - 0.1 * len(mine)) <= 2


def test_large_groups_still_leave_rows_to_validate_by():
    groups = np.repeat(np.arange(4, dtype=np.int32), 25)  # each as large as 25 % of the rows
    parts, _ = draw_splits(100, 0.1, 0, 42, None, groups)
    assert (parts == VALIDATION).sum() == 25


def test_a_split_repeats_and_follows_its_seed():
    first, _ = draw_splits(1_000, 0.1, 0.1, 42)
    assert (first == draw_splits(1_000, 0.1, 0.1, 42)[0]).all()
    assert (first != draw_splits(1_000, 0.1, 0.1, 43)[0]).any()
    assert np.flatnonzero(draw_splits(20, 0.25, 0, 42)[0]).tolist() == [0, 1, 4, 10, 17]


@pytest.mark.parametrize(
    "cell, part", [("train", "train"), (" Validation", "validation"), ("TEST", "test"), ("x", None)]
)
def test_parts_have_usual_spellings(cell, part):
    assert split_from_name(cell) == part


@given(st.lists(st.integers(-3, 3), max_size=20))
@tries(100)
def test_rows_with_equal_keys_are_a_group(keys):
    groups = group_rows(np.array(keys, dtype=np.int64))
    if len(set(keys)) == len(keys):
        assert groups is None and count_grouped_rows(groups) == 0
    else:
        assert set(groups.tolist()) == set(range(len(set(keys))))
        assert len(set(zip(groups.tolist(), keys, strict=True))) == len(set(keys))
