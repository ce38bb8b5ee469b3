"""Endings and the right one are read from tables and JSON lines; errors name the line."""

import json

import pytest

from engine.cli.rows import read_table
from engine.config.dataset import Mapping
from engine.data.columns.choices import (
    guess_choices,
    parse_choice_labels,
    parse_endings,
    write_choice_label,
)
from engine.data.columns.mapping import guess_mapping
from engine.data.formats.reading import recognise
from engine.errors import StudioError

SWAG = """,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label
0,17,"A man sits. He",A man sits.,He,gold,runs.,"sits, still.",flies.,sleeps.,0
1,18,"A dog barks. It",A dog barks.,It,gen,is a cat.,barks.,"says ""no"".",sings.,3
"""
HELLASWAG = {"ind": 4, "ctx_a": "Snow falls.", "ctx_b": "the man", "ctx": "Snow falls. the man"}


@pytest.mark.parametrize(
    "name, labels",
    [("full_data.tsv", (689, 684, 697, 706)), ("fold_0/test.tsv", (114, 142, 169, 130))],
)
def test_published_choices_have_their_known_label_counts(assets, name, labels):
    path = assets / "datasets" / "codah" / name
    rows = read_table(path, {}, {}).rows
    assert rows.labels is not None and rows.endings is not None and rows.lines is not None
    endings = parse_endings(rows.endings, rows.lines)
    correct = parse_choice_labels(rows.labels, endings, lines=rows.lines)
    assert tuple(correct.count(number) for number in range(4)) == labels
    lines = path.read_text(encoding="utf-8").split("\n")
    for line, text, choices in zip(rows.lines, rows.texts, endings, strict=True):
        assert [text, *choices] == lines[line - 1].split("\t")[1:6]


def test_the_columns_of_swag_are_recognised(tmp_path):
    path = tmp_path / "swag.csv"
    path.write_text(SWAG)
    endings = ("ending0", "ending1", "ending2", "ending3")
    expected = Mapping(text="sent1", beginning="sent2", endings=endings, label="label")
    assert recognise(path).mapping == expected
    rows = read_table(path, {}, {}).rows
    assert rows.texts == ["A man sits.", "A dog barks."] and rows.beginnings == ["He", "It"]
    assert rows.endings is not None and rows.endings[1][2] == 'says "no".'
    path.write_text("\n".join(line.rpartition(",")[0] for line in SWAG.splitlines()))
    assert recognise(path).mapping == expected.model_copy(update={"label": None})


def test_lists_of_endings_are_recognised(tmp_path):
    path = tmp_path / "x.jsonl"
    objects = [HELLASWAG | {"endings": ["a", "b", "ü"], "label": n} for n in (2, 0)]
    path.write_text("".join(json.dumps(row) + "\n" for row in objects))
    rows = read_table(path, {}, {}).rows
    assert rows.endings is not None and rows.labels == ["2", "0"]
    assert parse_endings(rows.endings) == [("a", "b", "ü")] * 2
    assert (rows.texts[0], rows.beginnings) == ("Snow falls.", ["the man"] * 2)


@pytest.mark.parametrize(
    "row, text, endings",
    [
        (  # ARC, OpenBookQA, CommonsenseQA
            {"question": "Why?", "choices": {"text": ["a", "b"], "label": ["A", "B"]}},
            "question",
            ("a", "b"),
        ),
        (
            {"stem": "Why?", "choices": [{"label": x, "text": x + "!"} for x in "AB"]},
            "stem",
            ("A!", "B!"),
        ),
        ({"goal": "Go.", "sol1": "a", "sol2": "b"}, "goal", ("a", "b")),  # PIQA
        ({"question": "Why?", "opa": "a", "opb": "b"}, "question", ("a", "b")),  # MedMCQA
        ({"sentence": "It _.", "option1": "a", "option2": "b"}, "sentence", ("a", "b")),
    ],
)
def test_published_forms_of_choices_are_read(tmp_path, row, text, endings):
    path = tmp_path / "x.jsonl"
    path.write_text((json.dumps(row | {"answer": "B"}) + "\n") * 2)
    mapping = recognise(path).mapping
    rows = read_table(path, {}, {}).rows
    assert mapping is not None and mapping.text == text and rows.endings is not None
    assert parse_endings(rows.endings) == [endings] * 2


@pytest.mark.parametrize(
    "labels, correct",
    [
        (["0", "1", "1"], [0, 1, 1]),
        (["1", "2", "1"], [0, 1, 0]),
        (["A", "b", "B"], [0, 1, 1]),
        (["yes", "no", " yes "], [0, 1, 0]),
    ],
)
def test_the_right_ending_is_recognised_in_many_notations(labels, correct):
    assert parse_choice_labels(labels, [("yes", "no")] * 3) == correct


def test_the_label_base_is_inferred_from_other_rows():
    assert parse_choice_labels(["1"], [("a", "b", "c")], first=1) == [0]
    assert parse_choice_labels(["1"], [("a", "b", "c")], first=0) == [1]


@pytest.mark.parametrize(
    "names, rows, expected",
    [
        ("sent1 sent2 ending0 ending1 label", "", "sent1 sent2 ending0 ending1"),
        ("Question A.X answer_B answer_A label", "", "Question - answer_A answer_B"),
        ("article question option1 option2 label", "", "article question option1 option2"),
        ("context question answer0 answer1 label", "", "context question answer0 answer1"),
        ("premise choice1 choice2 question label", "", "premise question choice1 choice2"),
        ("ctx ending10 ending9 ending8 label", "", "ctx - ending8 ending9 ending10"),
        ("a b c d e f", "i|a b|c d|e f|g h|1 j|a b|c d|e f|g h|2 k|a b|c d|e f|g h|3", None),
        ("id title body summary label", "1|a b|c d|e f|0 2|a b|c d|e f|1", None),  # no endings
        ("a b c d", "x|y|z|0 x|y|z|1", None),
        ("a b c d", "x|y|z|w", None),
        ("context ending0 label", "x|y|0", None),
        ("text label", "", None),
        ("", "", None),
    ],
)
def test_choice_columns_are_guessed(names, rows, expected):
    columns = tuple(names.split())
    cells = [tuple(row.split("|")) for row in rows.replace(" ", "~").split("~")] if rows else []
    cells = [tuple(row) for row in cells if len(row) == len(columns)]
    mapping = guess_choices(columns, cells)
    if expected is None:
        assert mapping is None
    else:
        assert mapping is not None and mapping.label == columns[-1]
        assert " ".join((mapping.text, mapping.beginning or "-", *mapping.endings)) == expected


def test_letters_are_labels_of_choices_without_column_names():  # MMLU
    rows = [("Why is it?", "a b", "c d", "e f", letter) for letter in "BAC"]
    mapping = guess_choices(tuple("12345"), rows)
    assert mapping == Mapping(text="1", endings=("2", "3", "4"), label="5")


def test_choices_without_column_names_are_recognised():
    columns = ("column 1", "column 2", "column 3", "column 4", "column 5", "column 6")
    rows = [("o", "I am", "a man", "so sad", "not you", str(n)) for n in (0, 2, 1)]
    expected = Mapping(text="column 2", endings=columns[2:5], label="column 6")
    assert guess_mapping(columns, rows) == (expected, ())
    assert guess_choices(columns, [(*row[:4], "", row[5]) for row in rows]) is None
    assert guess_choices(columns, [(*row[:5], "0") for row in rows]) is None
    assert guess_choices(columns, [(*row[:4], "word " * 50, row[5]) for row in rows]) is None


@pytest.mark.parametrize("label", ["2", "-1", "", "1.0", "²", "99999999999999999999", "C"])
def test_a_label_that_names_no_ending_is_refused_with_its_line(label):
    with pytest.raises(StudioError, match="in line 4 is not one of the choices") as caught:
        parse_choice_labels(["0", label], [("a b", "c d")] * 2, lines=[2, 4])
    assert f"“{label[:60]}”" in caught.value.problem and "from 0 to 1" in caught.value.advice


@pytest.mark.parametrize(
    "endings, message",
    [
        (("a text",), "in line 9 are not a list of texts"),
        (("[true, 2]",), "not a list of texts"),
        (('{"body": ["a", "b"]}',), "not a list of texts"),
        (('["a"]',), "nly 1 choice in line 9"),
        (("[]",), "nly 0 choices"),
        (('["a", ""]',), "Choice 2 of 2 is empty in line 9"),
        (("a", " "), "Choice 2 of 2 is empty"),
        (("a", "b", "c"), "3 choices in line 9, but 2 in line 8"),
    ],
)
def test_wrong_endings_are_reported_with_their_line(endings, message):
    with pytest.raises(StudioError, match=message):
        parse_endings([("x", "y"), endings], [8, 9])


@pytest.mark.parametrize(
    "labels, written",
    [
        (["0", "2", "1"], ["0", "1", "2"]),
        (["1", "3"], ["1", "2", "3"]),
        (["A", "c"], ["A", "B", "C"]),
        (["a", "b"], ["a", "b", "c"]),
        (["red"], ["red", "B", "C"]),  # “C” is the third choice, “1” the second
        ([], ["0", "1", "2"]),
    ],
)
def test_the_label_of_a_choice_is_written_like_the_others_and_read_again(labels, written):
    endings = ("red", "C", "1") if "red" in labels else ("red", "green", "blue")
    found = [write_choice_label(n, endings, labels) for n in range(3)]
    assert found == written
    rows = [*labels, *found]
    parsed = parse_choice_labels(rows, [endings] * len(rows))
    assert parsed[len(labels) :] == [0, 1, 2]
