"""Several labels of a row are read from one cell or from yes/no columns."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Mapping, Split
from engine.data.columns.label_sets import (
    MARKS,
    count_label_sets,
    is_mark,
    join_labels,
    parse_flag,
    parse_flags,
    parse_label_sets,
)
from engine.data.datasets.importing import import_dataset
from engine.data.formats.reading import recognise
from engine.errors import BadFile, StudioError
from tests.often import tries


@pytest.mark.parametrize(
    "cells, labels",
    [
        (["a|b", "c", ""], [("a", "b"), ("c",), ()]),
        (["a; b ;", "b"], [("a", "b"), ("b",)]),
        (["a, b", "b,b"], [("a", "b"), ("b",)]),
        (["rock, hard|pop", "rock, hard"], [("rock, hard", "pop"), ("rock, hard",)]),
        (['["a", "b|c"]', "[]"], [("a", "b|c"), ()]),
        (["[1, 2]", "[3]"], [("1", "2"), ("3",)]),
        (['["a"]', "b|c"], [("a",), ("b", "c")]),
        (["[a] b", "c"], [("[a] b",), ("c",)]),
        (["food#price", "food"], [("food", "price"), ("food",)]),
        (["C#", "C#|Java"], [("C#",), ("C#", "Java")]),
        (["C#", "F#"], [("C#",), ("F#",)]),
        (["[0, 1, 1]", "[1 0 0]", ""], [("1", "2"), ("0",), ()]),
        (["[false, true]", "[true, true]"], [("1",), ("0", "1")]),
        (["[0., 0.]", "[1.0, 0.0]"], [(), ("0",)]),
        (["[0, 1]", "[1, 0]"], [("0", "1"), ("1", "0")]),
        (["[0, 1, 2]", "[1, 1]"], [("0", "1", "2"), ("1",)]),
        (['{"choices": ["a", "b"]}', "a"], [("a", "b"), ("a",)]),
        (['[{"id": 1, "name": "a, b"}, {"id": 2, "name": "c"}]'], [("a, b", "c")]),
    ],
)
def test_labels_in_a_cell_are_split(cells, labels):
    assert parse_label_sets(cells) == labels


def test_a_known_label_is_not_split():
    assert parse_label_sets(["rock, hard", "pop"], ("rock, hard", "pop")) == [
        ("rock, hard",),
        ("pop",),
    ]


names = st.text(min_size=1, max_size=5).map(str.strip).filter(bool)


@given(st.lists(st.lists(names, unique=True, max_size=4), max_size=5))
@tries(100)
def test_joined_labels_round_trip(sets):
    for labels in sets:
        assert parse_label_sets([join_labels(labels)], labels) == [tuple(labels)]


@pytest.mark.parametrize(
    "cells, counts",
    [
        ({"a": 3, "a|b": 2, "b": 1}, {"a": 5, "b": 3}),
        ({"a,b": 2, "b,c": 1, "a,c": 1}, {"a": 3, "b": 3, "c": 2}),
        ({"news": 4, "sports, local": 3}, None),  # a class name with a comma
        ({"good": 4, "bad": 3}, None),
        ({json.dumps(["x", "y"]): 1, json.dumps(["y"]): 4}, {"x": 1, "y": 5}),
        ({"": 2, "a|b": 1, "b": 1, "a": 1}, {"a": 2, "b": 2}),
        ({"['x']": 1, "['y']": 4}, {"x": 1, "y": 4}),  # always one, in a list
        ({"Austin, TX": 2, "Dallas, TX": 3, "Reno, NV": 1, "Elko, NV": 1}, None),
        ({"0": 1, "5": 2, "2,5": 3, "2,5,9": 1, "2": 1}, {"0": 1, "2": 5, "5": 6, "9": 1}),
        ({}, None),
    ],
)
def test_label_sets_are_distinguished_from_single_labels(cells, counts):
    assert count_label_sets(cells) == counts


def test_flags_are_read_in_every_spelling():
    cells = ["1", "0", "True", "FALSE", " yes", "no", "1.0", "0.0"]
    assert parse_flags("x", cells) == [True, False] * 4
    with pytest.raises(StudioError, match="column “x” is neither yes nor no in line 9"):
        parse_flags("x", ["1", "2"], [8, 9])


@pytest.mark.parametrize("mark", [*MARKS, "X", " x "])
def test_empty_cells_beside_marks_are_no(mark):
    assert parse_flags("food", [mark, "", "0", " "]) == [True, False, False, False]
    assert parse_flags("food", ["", ""]) == [False, False]
    with pytest.raises(StudioError, match="row 2"):
        parse_flags("food", ["1", ""])


def test_marked_columns_are_labels(tmp_path):
    marks = [";".join("x" * (n % m == 0) for m in (2, 3, 5)) for n in range(30)]
    rows = "".join(f"a line of words, number {n};{cells}\n" for n, cells in enumerate(marks))
    file = tmp_path / "marks.csv"
    file.write_text("text;food;price;staff\n" + rows)
    reading, _, mapping, *_ = recognise(file)
    assert mapping == Mapping(text="text", flags=("food", "price", "staff"))
    split = Split(validation=0)
    spec = import_dataset("marks", {"all": file}, reading, mapping, split, tmp_path / "1")
    assert spec.labels == {"food": 15, "price": 10, "staff": 6}
    file.write_text(file.read_text().replace(";x", ";1"))
    assert recognise(file).mapping != mapping
    with pytest.raises(BadFile, match="“” in the column “food” is neither yes nor no"):
        import_dataset("ones", {"all": file}, reading, mapping, split, tmp_path / "2")


def test_an_option_in_its_own_column_of_a_survey_is_a_mark():
    assert is_mark("Ducks", "Which? – Ducks") and not is_mark("Ducks", "Which? – Cats")
    assert not is_mark("", "Which? – ") and parse_flag("no", "Which? – Cats") is False
