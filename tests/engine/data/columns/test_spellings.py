"""Labels in several spellings are found, and matched to those of a model."""

import pytest

from engine.data.columns.spellings import Spellings, find_spellings, match_labels


@pytest.mark.parametrize(
    "labels, expected",
    [
        ({"positive": 9, "Positive": 2, "POSITIVE": 1, "negative": 8},
         Spellings("positive", ("POSITIVE", "Positive"), 3)),
        ({"very good": 5, "very  good": 1, "bad": 3}, Spellings("very good", ("very  good",), 1)),
        ({"1": 5, "1.0": 9, "0": 3}, Spellings("1.0", ("1",), 5)),
        ({"ｂａｄ": 1, "bad": 3, "good": 2}, Spellings("bad", ("ｂａｄ",), 1)),
        ({"positive": 100, "postive": 2, "negative": 90}, Spellings("positive", ("postive",), 2)),
        ({"positive": 100, "positve": 1, "Postive": 1, "negative": 90},
         Spellings("positive", ("Postive", "positve"), 2)),
        ({"weather": 60, "waether": 1, "sport": 50}, Spellings("weather", ("waether",), 1)),
    ],
)  # fmt: skip
def test_variant_spellings_of_labels_are_reported(labels, expected):
    assert find_spellings(labels) == [expected]


@pytest.mark.parametrize(
    "labels",
    [
        {"male": 50, "female": 50},
        {"positive": 50, "postive": 49},  # equally frequent: no typo
        {"cat1": 100, "cat2": 1},
        {"ham": 100, "jam": 1},
        {"1": 9, "10": 9, "1,000": 9},
        {"": 3, " ": 2, "a": 1},
    ],
)
def test_different_labels_are_not_reported(labels):
    assert find_spellings(labels) == []


@pytest.mark.parametrize(
    "labels, known, matched, unknown",
    [
        (["good", "bad"], ("bad", "good"), ["good", "bad"], []),
        (["Good ", "BAD"], ("bad", "good"), ["good", "bad"], []),
        (["1", "0"], ("bad", "good"), ["good", "bad"], []),
        (["1.0", "0.0"], ("bad", "good"), ["good", "bad"], []),
        (["1.0", "0.0"], ("0", "1"), ["1", "0"], []),
        (["0", "1", "2"], ("bad", "good"), ["bad", "good"], ["2"]),  # only 2 is unknown
        (["0", "1", "2"], ("1", "2", "3"), ["1", "2"], ["0"]),  # names, not ids
        (["good", "new"], ("bad", "good"), ["good"], ["new"]),
        (["a", "A"], ("a", "A"), ["a", "A"], []),
        (["Good", "1", "bad"], ("good", "bad"), ["good", "bad"], ["1"]),  # the majority decides
    ],
)
def test_labels_of_a_file_are_matched_to_those_of_a_model(labels, known, matched, unknown):
    assert match_labels(labels, known) == (
        dict(zip([label for label in labels if label not in unknown], matched, strict=True)),
        unknown,
    )


def test_many_labels_are_matched_in_linear_time():
    """Comparing all pairs would exceed the timeout."""
    labels = tuple(f"Label {number}" for number in range(30_000))
    matched, unknown = match_labels((label.lower() for label in labels), (*labels, "label 0"))
    assert len(matched) == len(labels) - 1 and unknown == ["label 0"]


def test_labels_without_rows_are_no_typos():
    assert not find_spellings({"good": 0, "gold": 0, "long": 9})
