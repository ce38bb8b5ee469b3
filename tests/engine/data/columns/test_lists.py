"""Lists are read as JSON, Python, pandas, NumPy and datasets print them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.columns.answers import parse_answers
from engine.data.columns.choices import parse_endings
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.lists import is_shortened, parse_list, parse_texts
from engine.data.columns.words import split_words
from tests.often import tries

PRINTERS = {
    "json": json.dumps,
    "json with letters": lambda items: json.dumps(items, ensure_ascii=False),
    "python": repr,
    "numpy": lambda items: np.array2string(np.array(items, object), threshold=10**9),
    "numpy in a dict": lambda items: f"{{'x': array({items!r}, dtype=object)}}",
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize("printer", PRINTERS)
@given(items=st.lists(texts, max_size=5))
@tries(100)
def test_every_printed_list_is_read(printer, items):
    value = parse_list(PRINTERS[printer](items))
    assert (value["x"] if isinstance(value, dict) else value) == items


@pytest.mark.parametrize("printer", [json.dumps, repr, lambda n: str(np.array(n))])
@pytest.mark.parametrize("numbers", [[3], [0, 12, -4], [0.5, 1.25]])
def test_numbers_stay_texts(printer, numbers):
    read = parse_texts(printer(numbers))
    assert read is not None and [float(number) for number in read] == numbers


@pytest.mark.parametrize("kind", [list, np.array])  # pandas writes `str` of either into a CSV
def test_every_column_reads_printed_lists(kind):
    for words in (["Maria", "isn't", 'a "b"'], ["東京", "[", "]"], []):
        assert split_words(str(kind(words))) == words
        assert parse_label_sets([str(kind(words))]) == [tuple(words)]
        assert parse_endings([(str(kind([*words, "a", "b"])),)]) == [(*words, "a", "b")]
    assert split_words(str(kind([1, 0, 12]))) == ["1", "0", "12"]
    answers = {"text": kind(["isn't"]), "answer_start": kind([6])}
    assert parse_answers(str(answers), "Maria isn't") == (("isn't", 6),)
    assert parse_answers(str({"text": kind([]), "answer_start": kind([])}), "Maria") == ()


@pytest.mark.parametrize(
    "cell",
    [
        *("", "[", "[a, b]", "[1] [2]", "[CLS] x ]", "[see 3]", "{x}", "(1, 2)", "[1,2", "[)]"),
        *("[: ]", "[list]", "[" * 10_000 + "]" * 10_000, "3", "'a'", "['a' b]"),
    ],
)
def test_other_cells_are_no_lists(cell):
    assert parse_list(cell) is None and not is_shortened(cell)


def test_a_shortened_list_is_recognised():
    printed = str(np.arange(2000).astype(str))
    assert parse_list(printed) is None and is_shortened(printed)
    assert not is_shortened(str(np.array(["...", "a"])))
