"""Numbers are read in common notations; errors name the line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.columns.numbers import (
    are_ids,
    is_scale,
    parse_number,
    parse_numbers,
    plain_numbers,
    scale_bins,
    unit_problem,
)
from engine.errors import StudioError
from tests.often import tries


@pytest.mark.parametrize(
    "cell, number",
    [
        ("3.5", 3.5), (" -2 ", -2), ("+.5", 0.5), ("5.", 5), ("1e-3", 1e-3), ("3,5", 3.5),
        ("1,234,567", None), ("nan", None), ("inf", None), ("1e99", None), ("", None),
        ("1_000", None), ("٣", None), ("three", None), (".", None), ("1 000", None),
    ],
)  # fmt: skip
def test_a_cell_is_a_finite_number_or_none(cell, number):
    assert parse_number(cell) == number


@given(st.lists(st.floats(-(2.0**90), 2.0**90, width=32)))
@tries(100)
def test_numbers_round_trip_through_their_repr(numbers):
    assert parse_numbers([repr(number) for number in numbers]).tolist() == numbers


def test_problems_are_reported_with_their_line():
    with pytest.raises(StudioError, match=r"line 5 is “abc”, .*; 1 other rows"):
        parse_numbers(["1", "abc", "x"], [4, 5, 6])
    with pytest.raises(StudioError, match="row 2 is empty"):
        parse_numbers(["1", " "])
    with pytest.raises(StudioError, match=r"“1,234” in row 1, but “0\.5” in row 2"):
        parse_numbers(["1,234", "0.5"])
    with pytest.raises(StudioError, match="“1,368” in line 9 may be a decimal comma or separate"):
        parse_numbers(["187", "1,368"], [8, 9])
    assert parse_numbers(["2", "2,5", "0,125"]).tolist() == [2, 2.5, 0.125]


@pytest.mark.parametrize(
    "cells, ids",
    [
        (["0", "5", "2,5", "27"], True),
        (["2,5,9", "1"], True),
        (["1,5", "2,5", "3,0", "2"], False),  # decimals need not ascend
        (["3,7", "1,2", "4,9", "5"], False),
        (["1,234,567", "187"], False),
        (["2,05", "5"], False),
        (["1", "2"], False),
    ],
)
def test_ids_between_commas_are_no_decimals(cells, ids):
    assert are_ids(cells) is ids


@pytest.mark.parametrize(
    "labels, scale",
    [
        ({f"{n / 5}": 40 for n in range(26)}, True),
        ({str(n): 100 for n in range(77)}, False),  # ids of many classes
        ({str(n): 3 for n in range(77)}, True),
        ({f"{n / 2}": 40 for n in range(10)}, False),  # stars
        ({f"{n / 5}": 40 for n in range(26)} | {"": 1}, True),
        ({}, False),
    ],
)
def test_scales_are_distinguished_from_classes(labels, scale):
    assert is_scale(labels) is scale


@given(st.lists(st.integers(1, 20), min_size=1, max_size=40), st.integers(1, 96))
@tries(100)
def test_bins_are_ordered_and_hold_about_a_tenth_of_the_rows(counts, step):
    labels = {str(n * step % 97 - 40): count for n, count in enumerate(counts)}
    bins = scale_bins(labels)
    order = np.argsort([float(label) for label in labels])
    assert (np.diff(bins[order]) >= 0).all()
    rows = np.bincount(bins, weights=list(labels.values()), minlength=10)
    assert rows.max() <= sum(labels.values()) / 10 + max(labels.values())


@pytest.mark.parametrize(
    "cells, plain",
    [
        (["4.5 stars", "1 star"], ["4.5", "1"]),
        (["3/5", "4.5/5"], ["3", "4.5"]),
        (["80%", "7 %"], ["80", "7"]),
        (["12,5 kg", "3 kg"], ["12.5", "3"]),
        (["$1,368.50", "$9.99"], ["1368.50", "9.99"]),
        (["1.368,50 €", "9,99 €"], ["1368.50", "9.99"]),
        (["1’368.5", "187"], ["1368.5", "187"]),
        (["1\u202f368", "187"], ["1368", "187"]),
        (["−0.5", "+1"], ["-0.5", "+1"]),
        (["٣٫٥", "٤"], ["3.5", "4"]),
        (["1.368.000", "2.000.500"], ["1368000", "2000500"]),
        (["1:02:03", "0:00:09"], ["3723", "9"]),
        (["3.5", "2"], None),
        (["3 kg", "3 lb"], None),
        (["2024.03.01", "2024.03.02"], None),
        (["1st", "2nd"], None),
        (["C1", "C2"], None),
        (["18-24", "25-34"], None),
        (["1,2,3", "4,5"], None),
        (["good", "3 kg"], None),
        ([], None),
    ],
)
def test_numbers_with_units_and_signs_have_a_plain_spelling(cells, plain):
    found = plain_numbers(cells)
    assert (None if found is None else [found[cell] for cell in cells]) == plain
    assert (unit_problem(cells) is None) == (plain is None)
