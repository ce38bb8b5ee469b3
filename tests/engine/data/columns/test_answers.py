"""Answers that the passage spells in another way are found there, others are not."""

import json

import pytest

from engine.data.columns.answers import parse_answers, respell_answers

PASSAGE = "Romeo left rome.  He lived in New  York’s “Little Italy” (since 1912) with O’Neil."


@pytest.mark.parametrize(
    "cell, found",
    [
        ("ROME", ("rome", 11)),
        ("“Rome”.", ("rome", 11)),
        ("new york's", ("New  York’s", 30)),
        ("Little Italy", ("Little Italy", 43)),
        ('"little italy"', ("Little Italy", 43)),
        ("since\n1912", ("since 1912", 58)),
        ("o'neil", ("O’Neil", 75)),
        ('[{"text": "he", "answer_start": 40}]', ("He", 18)),
    ],
)
def test_an_answer_in_another_spelling_is_found_as_the_passage_has_it(cell, found):
    better = respell_answers(cell, PASSAGE)
    assert parse_answers(better, PASSAGE) == (found,)
    assert PASSAGE[found[1] :].startswith(found[0])


def test_a_cell_stays_plain_where_its_place_is_clear():
    assert respell_answers("little italy", PASSAGE) == "Little Italy"
    twice = json.loads(respell_answers("ROME", "Aromey thing of rome"))
    assert twice == [{"text": "rome", "answer_start": 16}]


@pytest.mark.parametrize(
    "cell", ["Paris", "neil york", "OME", "?!", '[{"text": "", "answer_start": 0}]']
)
def test_what_the_passage_does_not_have_is_not_found(cell):
    assert respell_answers(cell, PASSAGE) is None


def test_of_several_answers_each_is_found_or_none():
    cell = json.dumps({"text": ["rome", "LITTLE italy"], "answer_start": [11, 0]})
    found = parse_answers(respell_answers(cell, PASSAGE), PASSAGE)
    assert found == (("rome", 11), ("Little Italy", 43))
    cell = json.dumps({"text": ["rome", "Paris"], "answer_start": [11, 0]})
    assert respell_answers(cell, PASSAGE) is None
