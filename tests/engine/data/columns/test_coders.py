"""Columns of several coders are found by name or content, and read as one target."""

import numpy as np
import pyarrow as pa
import pytest

from engine.config.dataset import Mapping
from engine.data.columns.coders import Codings, agreed_cells, find_coders, read_codings
from engine.errors import StudioError

LABELS = ["good", "bad", "fair"]


def columns_like(kind: str, count: int, rows: int = 60) -> list[list[str]]:
    """Columns of labels, of which most agree, or of unrelated ones."""
    rng = np.random.default_rng(3)
    names = {"labels": LABELS, "yes": ["0", "1"], "stars": list("12345")}[kind.rpartition(" ")[2]]
    base = rng.choice(names, rows)
    keep = 0.0 if kind.startswith("unrelated") else 0.85
    return [
        [
            a if rng.random() < keep else b
            for a, b in zip(base, rng.choice(names, rows), strict=True)
        ]
        for _ in range(count)
    ]


FOUND = {
    ("coder1", "coder2"): "labels",
    ("Rater A", "Rater B", "Rater C"): "stars",
    ("annotator_1", "annotator_2", "annotator_3"): "yes",
    ("label_A", "label_B"): "unrelated labels",
    ("labelA", "labelB"): "labels",
    ("sentiment_coder1", "sentiment_coder2"): "labels",
    ("Anna", "Ben"): "labels",
}
NOT_FOUND = {
    ("toxic", "insult", "threat"): "yes",
    ("q1", "q2", "q3"): "yes",
    ("style", "plot"): "stars",
    ("topic", "tone"): "unrelated labels",
    ("label", "predicted_label"): "labels",
    ("label",): "labels",
    tuple(f"question {letter}x" for letter in "abcdefghijklm"): "labels",
}


def test_columns_of_coders_are_found_and_others_are_not():
    for names, kind in (FOUND | NOT_FOUND).items():
        cells = columns_like(kind, len(names))
        texts = [f"a text with number {n} and some words" for n in range(len(cells[0]))]
        rows = list(zip(texts, *cells, strict=True))
        found = find_coders(("text", *names), rows, Mapping(text="text"))
        assert found == (names if names in FOUND else ()), names


def test_coders_next_to_a_gold_label_are_those_with_numbers():
    """As in SNLI: the first coder saw every row, the others few."""
    cells = columns_like("labels", 4)
    cells[2:] = [[cell if n % 3 else "" for n, cell in enumerate(column)] for column in cells[2:]]
    texts = [f"a text with number {n} and some words" for n in range(60)]
    names = ("text", "gold_label", "label1", "label2", "label3")
    rows = list(zip(texts, *cells, strict=True))
    assert find_coders(names, rows, Mapping(text="text", label="gold_label")) == names[2:]


def test_the_label_of_coders_is_a_column_that_none_of_them_has():
    assert Mapping(text="t", coders=("a", "b")).label == "label"
    assert Mapping(text="t", coders=("label", "label 2")).label == "label 3"
    assert Mapping(text="t", coders=("a", "b"), label="gold").label == "gold"
    tagged = Mapping(text="t", coders=("a", "tags"), tags="tags")
    assert tagged.tags == "tags 2" and tagged.label is None
    assert Mapping(text="t", coders=("a", "b"), label="b").label == "label"
    assert Mapping(text="t", coders=("a", "b")).agreed_column(("t", "a", "b")) == "label"
    assert Mapping(text="t", coders=("a", "b")).agreed_column(("t", "a", "b", "label")) is None


def test_coders_agree_if_every_filled_cell_says_the_same():
    first = ["a", "a", "a", "", "x|y", "2", "O  B-x"]
    second = ["a ", "b", "", "", "y|x", "2.0", "O B-x"]
    assert agreed_cells([first[:6], second[:6]]) == ["a", "", "a", "", "x|y", "2"]
    assert agreed_cells([first[6:], second[6:]], are_tags=True) == ["O  B-x"]


def read(*columns: list[str], **options: object) -> Codings:
    cells = {str(n): pa.chunked_array([column]) for n, column in enumerate(columns)}
    mapping = Mapping(text="text", coders=tuple(cells))
    return read_codings(cells.__getitem__, mapping, **options)  # type: ignore[arg-type]


def test_codes_are_read_in_order_without_placeholders_and_with_spellings():
    scale = read(["2", "3 – good", "1 – bad"], ["2", "2", "NA"])
    assert scale.cells == ("1 – bad", "2", "3 – good") and scale.are_ordered
    assert scale.codes.tolist() == [[1, 1], [2, 1], [0, -1]]
    words = read(["often", "never"], ["sometimes", "never"])
    assert words.cells == ("never", "sometimes", "often") and words.are_ordered
    assert not read(["red", "blue"], ["green", "red"]).are_ordered
    codings = read(["10", "9", "?", "9"], ["9", "9", "10", " 9 "])
    assert codings.cells == ("9", "10") and codings.are_ordered
    assert codings.codes.tolist() == [[1, 0], [0, 0], [-1, 1], [0, 0]]
    assert codings.disputed.tolist() == [True, False, False, False]
    merged = read(["Good", "bad"], ["good", "bad"], spellings={"Good": "good"})
    assert merged.cells == ("bad", "good") and not merged.disputed.any()


def test_numbers_in_another_spelling_are_one_code():
    codings = read(["1", "0", "2", "x"], ["1.0", "0.0", "", "x"])  # pandas, with a missing code
    assert codings.cells == ("0", "1", "2", "x") and not codings.disputed.any()


def test_an_order_of_labels_must_have_all_of_them():
    codings = read(["low", "high", "mid"], ["low", "mid", "mid"])
    ordered = codings.in_order(["low", "mid", "high", "top"])
    assert ordered.cells == ("low", "mid", "high") and ordered.are_ordered
    assert ordered.codes.tolist() == [[0, 0], [2, 1], [1, 1]]
    with pytest.raises(StudioError, match="does not have all labels: “mid”"):
        codings.in_order(["low", "high"])


def test_the_majority_decides_unless_two_labels_are_as_frequent():
    columns = (["a", "a", "a", ""], ["a", "b", "b", ""], ["b", "c", "", ""])
    assert read(*columns).majority() == ["a", "", "", ""]
    scores = [[str(n + shift) for n in np.linspace(0, 5, 40)] for shift in (0.25, 0.75)]
    codings = read(*scores)
    assert codings.kind == "numbers" and codings.majority()[0] == "0.5"
