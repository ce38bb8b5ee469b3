"""Labels in several spellings are found, and matched to those of a model."""

import pytest

from engine.data.columns.spellings import Spellings, find_spellings, match_labels


@pytest.mark.parametrize(
    "labels, found",
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
def test_variant_spellings_of_labels_are_reported(labels, found):
    assert find_spellings(labels) == [found]


@pytest.mark.parametrize(
    "labels",
    [
        {"male": 50, "female": 50},
        {"positive": 50, "postive": 49},  # as frequent: no mistake
        {"cat1": 100, "cat2": 1},
        {"ham": 100, "jam": 1},
        {"1": 9, "10": 9, "1,000": 9},
        {"": 3, " ": 2, "a": 1},
    ],
)
def test_other_labels_are_others(labels):
    assert find_spellings(labels) == []


@pytest.mark.parametrize(
    "found, known, same, unknown_labels",
    [
        (["good", "bad"], ("bad", "good"), ["good", "bad"], []),
        (["Good ", "BAD"], ("bad", "good"), ["good", "bad"], []),
        (["1", "0"], ("bad", "good"), ["good", "bad"], []),
        (["1.0", "0.0"], ("bad", "good"), ["good", "bad"], []),
        (["1.0", "0.0"], ("0", "1"), ["1", "0"], []),
        (["0", "1", "2"], ("bad", "good"), ["bad", "good"], ["2"]),  # it is 2 that is unknown
        (["0", "1", "2"], ("1", "2", "3"), ["1", "2"], ["0"]),  # names are no ids
        (["good", "new"], ("bad", "good"), ["good"], ["new"]),
        (["a", "A"], ("a", "A"), ["a", "A"], []),
        (["Good", "1", "bad"], ("good", "bad"), ["good", "bad"], ["1"]),  # most decide
    ],
)
def test_labels_of_a_file_are_matched_to_those_of_a_model(found, known, same, unknown_labels):
    assert match_labels(found, known) == (
        dict(zip([label for label in found if label not in unknown_labels], same, strict=True)),
        unknown_labels,
    )


def test_a_hundred_thousand_labels_are_compared_in_no_time():
    """Each with each would take the test beyond its limit."""
    labels = tuple(f"Label {number}" for number in range(100_000))
    same, unknown_labels = match_labels((label.lower() for label in labels), (*labels, "label 0"))
    assert len(same) == len(labels) - 1 and unknown_labels == ["label 0"]
