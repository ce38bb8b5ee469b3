"""Answers that the passage spells differently are found there, missing ones are not."""

import json

import pytest

from engine.data.columns.answers import parse_answers, respell_answers

PASSAGE = "Romeo left rome.  He lived in New  York’s “Little Italy” (since 1912) with O’Neil."


@pytest.mark.parametrize(
    "cell, answer",
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
def test_a_differently_spelled_answer_is_found_in_the_passage(cell, answer):
    respelled = respell_answers(cell, PASSAGE)
    assert parse_answers(respelled, PASSAGE) == (answer,)
    assert PASSAGE[answer[1] :].startswith(answer[0])


def test_a_cell_stays_plain_if_its_position_is_unambiguous():
    assert respell_answers("little italy", PASSAGE) == "Little Italy"
    answers = json.loads(respell_answers("ROME", "Aromey thing of rome"))
    assert answers == [{"text": "rome", "answer_start": 16}]


@pytest.mark.parametrize(
    "cell", ["Paris", "neil york", "OME", "?!", '[{"text": "", "answer_start": 0}]']
)
def test_an_answer_missing_from_the_passage_is_not_found(cell):
    assert respell_answers(cell, PASSAGE) is None


def test_several_answers_are_found_all_or_none():
    cell = json.dumps({"text": ["rome", "LITTLE italy"], "answer_start": [11, 0]})
    answers = parse_answers(respell_answers(cell, PASSAGE), PASSAGE)
    assert answers == (("rome", 11), ("Little Italy", 43))
    cell = json.dumps({"text": ["rome", "Paris"], "answer_start": [11, 0]})
    assert respell_answers(cell, PASSAGE) is None


@pytest.mark.parametrize("cell", ['["rome", "Little Italy"]', "['rome', 'Little Italy']"])
def test_a_list_of_answers_is_read_as_printed(cell):
    """At its first occurrence each; an answer with brackets of its own stays one."""
    assert parse_answers(cell, PASSAGE) == (("rome", 11), ("Little Italy", 43))
    assert parse_answers("[sic] in", "a [sic] in it") == (("[sic] in", 2),)
