"""Rows are split randomly and reproducibly."""

from itertools import pairwise

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
    split_by_time,
)
from tests.often import tries


@given(st.integers(0, 500), st.floats(0, 0.5), st.floats(0, 0.4), st.integers(0, 10))
@tries(100)
def test_splits_have_their_fractions(rows, dev, test, seed):
    splits, _ = draw_splits(rows, dev, test, seed)
    assert abs((splits == VALIDATION).sum() - rows * dev) <= 1
    assert abs((splits == TEST).sum() - rows * test) <= 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=300), st.integers(0, 10))
@tries(100)
def test_a_balanced_split_keeps_label_proportions(labels, seed):
    indices = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    splits, rare = draw_splits(len(labels), 0.2, 0.1, seed, indices)
    for label in range(indices.max() + 1):
        assigned = splits[indices == label]
        assert (assigned == TRAIN).any()
        assert (assigned == VALIDATION).sum() <= np.ceil(0.2 * len(assigned))
        assert (assigned == TEST).sum() <= np.ceil(0.1 * len(assigned))
    assert rare == (np.bincount(indices) == 1).sum()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), min_size=1, max_size=200),
    st.integers(0, 10),
)
@tries(100)
def test_groups_stay_together(rows, seed):
    labels = np.unique([label for label, _ in rows], return_inverse=True)[1].astype(np.int32)
    groups = np.unique([group for _, group in rows], return_inverse=True)[1].astype(np.int32)
    splits, _ = draw_splits(len(rows), 0.2, 0.1, seed, labels, groups)
    for group in range(groups.max() + 1):
        assert len(set(splits[groups == group])) == 1
    for label in range(labels.max() + 1):
        assert (splits[labels == label] == TRAIN).any()


def test_groups_of_single_rows_change_nothing():
    labels = np.arange(300, dtype=np.int32) % 3
    groups = np.arange(300, dtype=np.int32)[::-1].copy()
    plain, _ = draw_splits(300, 0.2, 0.1, 7, labels)
    assert (plain == draw_splits(300, 0.2, 0.1, 7, labels, groups)[0]).all()
    groups[0] = groups[3]  # two rows with the same label
    grouped, _ = draw_splits(300, 0.2, 0.1, 7, labels, groups)
    assert (plain != grouped).sum() <= 4


def test_fractions_and_proportions_are_kept_if_groups_allow():
    rng = np.random.default_rng(0)
    groups = np.sort(rng.integers(0, 400, 1_000)).astype(np.int32)
    labels = (groups % 4).astype(np.int32)
    splits, _ = draw_splits(1_000, 0.1, 0.1, 42, labels, groups)
    for label in range(4):
        assigned = splits[labels == label]
        for split in (VALIDATION, TEST):
            assert abs((assigned == split).sum() - 0.1 * len(assigned)) <= 2


def test_large_groups_still_leave_validation_rows():
    groups = np.repeat(np.arange(4, dtype=np.int32), 25)  # each as large as 25 % of the rows
    splits, _ = draw_splits(100, 0.1, 0, 42, None, groups)
    assert (splits == VALIDATION).sum() == 25


def test_a_split_depends_only_on_its_seed():
    splits, _ = draw_splits(1_000, 0.1, 0.1, 42)
    assert (splits == draw_splits(1_000, 0.1, 0.1, 42)[0]).all()
    assert (splits != draw_splits(1_000, 0.1, 0.1, 43)[0]).any()
    assert np.flatnonzero(draw_splits(20, 0.25, 0, 42)[0]).tolist() == [0, 1, 4, 10, 17]


@pytest.mark.parametrize(
    "cell, name", [("train", "train"), (" Validation", "validation"), ("TEST", "test"), ("x", None)]
)
def test_split_names_are_read_in_common_spellings(cell, name):
    assert split_from_name(cell) == name


@given(st.lists(st.integers(-3, 3), max_size=20))
@tries(100)
def test_rows_with_equal_keys_form_a_group(keys):
    groups = group_rows(np.array(keys, dtype=np.int64))
    if len(set(keys)) == len(keys):
        assert groups is None and count_grouped_rows(groups) == 0
    else:
        assert set(groups.tolist()) == set(range(len(set(keys))))
        assert len(set(zip(groups.tolist(), keys, strict=True))) == len(set(keys))


@given(
    st.lists(st.integers(0, 12), min_size=2, max_size=200).filter(lambda t: len({*t}) > 1),
    st.floats(0.05, 0.4),
    st.floats(0, 0.4),
)
@tries(100)
def test_no_row_is_older_than_one_of_an_earlier_split(times, validation, test):
    days = np.array(times, dtype=np.float64)
    splits = split_by_time(days, validation, test)
    parts = [days[splits == split] for split in (TRAIN, VALIDATION, TEST)]
    assert len(parts[0]) and (len(parts[1]) or len(parts[2]))
    assert bool(test) or not len(parts[2])
    filled = [part for part in parts if len(part)]
    for earlier, later in pairwise(filled):
        assert earlier.max() < later.min()


def test_a_split_by_time_has_its_fractions():
    splits = split_by_time(np.arange(100)[::-1].astype(np.float64), 0.1, 0.2)
    assert np.bincount(splits).tolist() == [70, 10, 20]
    assert splits[:20].tolist() == [TEST] * 20 and splits[29] == VALIDATION
