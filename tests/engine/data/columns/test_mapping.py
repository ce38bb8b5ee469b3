"""Columns are recognised by name, else by content."""

import json

import pytest

from engine.config.dataset import Mapping
from engine.data.columns.mapping import guess_mapping, guess_note

LONG = [f"this is sentence number {n} of them" for n in range(30)]
OTHER = [f"and here stands another, number {n}" for n in range(30)]
FEW = ["yes", "no"] * 15
DATES = [f"Mon Apr 06 22:19:{n:02d} PDT 2009" for n in range(30)]
MONTHS = [f"2026-{1 + n % 6:02d}" for n in range(30)]
NUMBERS = [str(1_000 + n) for n in range(30)]


@pytest.mark.parametrize(
    "columns, mapping",
    [
        ({"text": LONG, "label": FEW}, ("text", None, "label")),
        ({"Label": FEW, "Review_Text": LONG}, ("Review_Text", None, "Label")),
        (
            {"premise": LONG, "hypothesis": OTHER, "gold_label": FEW},
            ("premise", "hypothesis", "gold_label"),
        ),
        ({"a": FEW, "b": LONG}, ("b", None, "a")),
        ({"id": NUMBERS, "x": LONG, "y2": OTHER, "z": FEW}, ("x", "y2", "z")),
        ({"id": NUMBERS, "x": LONG}, ("x", None, None)),
        ({"month": MONTHS, "x": LONG}, ("x", None, None)),
        ({"month": MONTHS, "x": LONG, "age": FEW}, ("x", None, "age")),
        ({"place": FEW, "x": LONG, "Ground truth": FEW}, ("x", None, "Ground truth")),
        ({"only": NUMBERS}, ("only", None, None)),
        ({"x": LONG, "same": ["pos"] * 30}, ("x", None, "same")),
        ({"1": ["gj04"] * 30, "2": FEW, "3": ["*", ""] * 15, "4": LONG}, ("4", None, "2")),  # CoLA
        (
            {
                "id": NUMBERS,
                "airline_sentiment": FEW,
                "sentiment_confidence": FEW,
                "airline": FEW,
                "text": LONG,
            },
            ("text", None, "airline_sentiment"),
        ),
        (  # Sentiment140
            {"1": FEW, "2": NUMBERS, "3": DATES, "4": ["NO_QUERY"] * 30, "5": LONG},
            ("5", None, "1"),
        ),
        (  # STS-B
            {
                "1": ["main-captions"] * 30,
                "2": [f"{n / 7:.3f}" for n in range(30)],
                "3": LONG,
                "4": OTHER,
            },
            ("3", "4", "2"),
        ),
        (  # several labels of many combinations
            {
                "text": LONG,
                "reasons": [f"{'ab'[n % 2]};{'cd'[n % 3 % 2]}{n % 4}" for n in range(30)],
            },
            ("text", None, "reasons"),
        ),
        ({"#": NUMBERS, "text": LONG, "label": FEW}, ("text", None, "label")),
        ({"#": NUMBERS, "x": LONG, "?": FEW}, ("x", None, "?")),
        (  # a short title
            {"title": [f"No. {n}" for n in range(30)], "plot": LONG, "genre": FEW},
            ("plot", None, "genre"),
        ),
        (  # of HotpotQA
            {"question": LONG, "context": ['[["a b", ["c d e f"]]]'] * 30, "type": FEW},
            ("question", None, "type"),
        ),
        ({"text": LONG, "labels": ['[{"label": "a", "score": 0.5}]'] * 30}, ("text", None, None)),
        ({"id": NUMBERS, "data": ['[{"text": "a b"}, {"text": "c d"}]'] * 30}, None),
        ({"messages": ['[{"role": "user", "content": "a b c"}]'] * 30}, None),
        (  # columns of objects are neither
            {"1": LONG, "2": [f'[{{"a b": "{n} and more"}}]' for n in range(30)], "3": ["{}"] * 30},
            ("1", None, None),
        ),
    ],
)
def test_columns_are_guessed(columns, mapping):
    rows = list(zip(*columns.values(), strict=True))
    guess, _ = guess_mapping(tuple(columns), rows)
    expected = mapping and Mapping(text=mapping[0], pair=mapping[1], label=mapping[2])
    assert guess == expected


def test_answers_of_every_form_are_found():
    forms = ({"text": ["number"], "answer_start": [17]}, [{"text": "number", "answer_start": 17}])
    for cell in (*map(json.dumps, forms), str(forms[0]), "number"):
        rows = [("Which?", text, cell) for text in LONG]
        mapping, _ = guess_mapping(("question", "context", "answers"), rows)
        assert mapping == Mapping(text="question", pair="context", answers="answers")


def test_a_guess_is_noted():
    rows = list(zip(FEW, LONG, strict=True))
    for columns, guessed, note in (
        (("a", "b"), ("text", "label"), "text and label columns"),
        (("label", "b"), ("text",), "the text column"),
        (("a", "text"), ("label",), "the label column"),
        (("label", "text"), (), ""),
    ):
        assert guess_mapping(columns, rows)[1] == guessed
        assert note in guess_note(guessed)


def test_label_columns_are_not_guessed_as_text():
    assert guess_mapping(("a", "b"), list(zip(FEW, FEW, strict=True))) == (None, ())


def test_yes_no_columns_are_guessed_as_flags():
    flags = {name: ["0", "1", "0"] * 10 for name in ("toxic", "obscene", "threat")}
    columns = {"id": NUMBERS, "comment_text": LONG, **flags}

    def guess(**changes):
        table = columns | changes
        return guess_mapping(tuple(table), list(zip(*table.values(), strict=True)))

    expected = Mapping(text="comment_text", flags=tuple(flags))
    assert guess() == (expected, ("flags",))
    assert guess(language=["en"] * 30) == (expected, ("flags",)), "a constant column is no flag"
    assert guess(threat=["0", "1", ""] * 10)[0].flags == (), "an empty cell is neither yes nor no"
    assert guess(mood=["glad", "sad", "so-so"] * 10)[0].flags == ()
    assert guess(rating=["1", "3", "5"] * 10) == (
        Mapping(text="comment_text", label="rating"),
        (),
    )


def test_other_columns_are_guessed_for_a_chosen_text_column():
    rows = list(zip(FEW, FEW, LONG, OTHER, strict=True))
    columns = ("a", "b", "premise", "hypothesis")
    for text, mapping in (
        (None, Mapping(text="premise", pair="hypothesis", label="b")),
        ("premise", Mapping(text="premise", pair="hypothesis", label="b")),
        ("hypothesis", Mapping(text="hypothesis", label="b")),
        ("a", Mapping(text="a", label="b")),
        ("nowhere", Mapping(text="premise", pair="hypothesis", label="b")),
    ):
        assert guess_mapping(columns, rows, text) == (mapping, ("label",))
