"""Conditions select rows, have sentences, and survive JSON."""

import numpy as np
import pytest

from engine.errors import StudioError
from engine.results.conditions import (
    CONDITIONS,
    Between,
    CellBetween,
    CellContains,
    CellHasWord,
    CellIs,
    CellMatches,
    Condition,
    HasSpan,
    LabelIs,
    Outcome,
    Rows,
    ScoreBetween,
    mask,
    sentence,
)
from tests.engine.results.rows import class_rows, label_rows, tag_rows

REVIEWS = class_rows(
    gold=["good", "bad", None, "bad"],
    predicted=["good", "good", "bad", "bad"],
    scores=[[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [np.nan, np.nan]],
    text=["Fine, not bad", "Élan 3.5* (a|b)", "", "knot in a rope"],
    stars=["4,5", " 2 ", "many", "1e1"],
)
TAGS = tag_rows(
    [
        ("Ann met Bob", "B-person O B-person", "B-person O O"),
        ("Paris is big", "B-place O O", "B-person O O"),
        ("no names", "O O", "O B-place"),
        ("New York is", "B-place I-place O", "B-place O O"),
    ]
)

CASES: list[tuple[Condition, list[int], str]] = [
    (LabelIs(side="gold", label="bad"), [1, 3], "true label is “bad”"),
    (LabelIs(side="predicted", label="good"), [0, 1], "predicted is “good”"),
    (LabelIs(side="gold", label="bad", holds=False), [0, 2], "true label is not “bad”"),
    (LabelIs(side="predicted", label="odd", holds=False), [0, 1, 2, 3], "predicted is not “odd”"),
    (LabelIs(side="gold", label="odd"), [], "true label is “odd”"),
    (Outcome(right=True), [0, 3], "the prediction is correct"),
    (Outcome(right=False), [1], "the prediction is wrong"),
    (Between(figure="probability", least=0.75), [0, 1], "probability is at least 0.75"),
    (Between(figure="words", most=4), [0, 1, 2], "length in words is below 4"),
    (Between(figure="characters", least=0, most=1), [2],
     "length in characters is at least 0 and below 1"),
    (Between(figure="loss"), [], "loss is known"),
    (ScoreBetween(label="bad", least=0.15, most=0.7), [1],
     "the probability of “bad” is at least 0.15 and below 0.7"),
    (ScoreBetween(label="odd", least=0), [], "the probability of “odd” is at least 0"),
    (CellIs(column="stars", value="many"), [2], "“stars” is “many”"),
    (CellContains(column="text", text="ÉLAN"), [1], "“text” contains “ÉLAN”"),
    (CellContains(column="text", text="(a|b)"), [1], "“text” contains “(a|b)”"),
    (CellHasWord(column="text", word="NOT"), [0], "“text” has the word “NOT”"),
    (CellHasWord(column="text", word="élan", first=True), [1], "“text” begins with “élan”"),
    (CellHasWord(column="text", word="not", first=True), [], "“text” begins with “not”"),
    (CellMatches(column="text", pattern=r"\d\.\d"), [1], r"“text” matches \d\.\d"),
    (CellBetween(column="stars", least=2, most=10), [0, 1],
     "“stars” is at least 2 and below 10"),
    (Rows(rows=(3, 0, 7)), [0, 3], "the row is one of 3, 0, 7"),
    (Rows(rows=(0, 1, 2, 3)), [0, 1, 2, 3], "the row is one of 4 that were selected"),
]  # fmt: skip


def test_a_condition_selects_rows_and_has_a_sentence():
    for condition, rows, expected in CASES:
        assert mask(REVIEWS, [condition]).nonzero()[0].tolist() == rows
        assert sentence([condition]) == expected
        assert CONDITIONS.validate_json(CONDITIONS.dump_json((condition,))) == (condition,)


def test_spans_select_rows():
    for condition, rows, expected in [
        (HasSpan(), [0, 1, 2, 3], "the row has a span"),
        (HasSpan(error="missed"), [0], "the row has a missed span"),
        (
            HasSpan(error="right", gold="person"),
            [0],
            "the row has a correct span: true type “person”",
        ),
        (
            HasSpan(error="spurious", predicted="place"),
            [2],
            "the row has a spurious span: predicted “place”",
        ),
        (
            HasSpan(gold="place", predicted="person"),
            [1],
            "the row has a span: true type “place”, predicted “person”",
        ),
        (HasSpan(error="boundary"), [3], "the row has a span with a wrong boundary"),
        (HasSpan(gold="food"), [], "the row has a span: true type “food”"),
    ]:
        assert mask(TAGS, [condition]).nonzero()[0].tolist() == rows
        assert sentence([condition]) == expected


def test_conditions_are_combined():
    conditions: tuple[Condition, ...] = (LabelIs(side="gold", label="bad"), Outcome(right=False))
    assert mask(REVIEWS, conditions).tolist() == [False, True, False, False]
    assert sentence(conditions) == "true label is “bad” and the prediction is wrong"
    assert mask(REVIEWS, ()).all()
    assert sentence(()) == "all rows"


def test_a_row_with_one_of_several_labels_is_selected():
    sets = label_rows([["a", "a, b"], [], ["b"]], [["b"], ["a"], ["a, b", "b"]], ["a", "b"])
    for label, gold, predicted in (("a", [0], [1]), ("b", [2], [0, 2]), ("a, b", [0], [2])):
        assert mask(sets, [LabelIs(side="gold", label=label)]).nonzero()[0].tolist() == gold
        result = mask(sets, [LabelIs(side="predicted", label=label)]).nonzero()[0].tolist()
        assert result == predicted


def test_a_word_is_matched_literally():
    for word in ["a.c", r"\E", r"a\Eb", "[", "日本"]:
        predictions = class_rows(
            ["bad"] * 3, ["bad"] * 3, text=[f"x {word} y", "x abc y", f"x{word}y"]
        )
        condition = CellHasWord(column="text", word=word)
        assert mask(predictions, [condition]).tolist() == [True, False, False]


def test_invalid_conditions_are_refused_with_a_reason():
    for condition, problem in [
        (CellMatches(column="text", pattern="("), "“(” is not a valid regular expression."),
        (CellMatches(column="text", pattern="(?=a)"), "“(?=a)” is not a valid regular expression."),
        (CellIs(column="year", value="1"), "These predictions have no column “year”."),
    ]:
        with pytest.raises(StudioError) as caught:
            mask(REVIEWS, [condition])
        assert caught.value.problem == problem
