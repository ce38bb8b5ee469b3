"""Labels that mean that a row has none are recognised next to the others."""

import pytest

from engine.data.columns.placeholders import find_codes, find_placeholders


@pytest.mark.parametrize(
    "labels, placeholders",
    [
        (["pos", "neg", "-"], ["-"]),
        (["pos", "neg", "", "NaN", r"\N", "#DIV/0!"], ["NaN", r"\N", "#DIV/0!"]),
        (["1. Labour", "2. Tory", ".a", "."], [".a", "."]),
        (["1.5", "2", "NA", "nan", "None"], ["NA", "nan", "None"]),
        (["favor", "against", "none"], []),
        (["EU", "NA", "SA"], []),
        (["pos", "-"], []),
        (["+", "-", "?"], []),
        ([], []),
    ],
)
def test_placeholders_are_found(labels, placeholders):
    assert find_placeholders(labels) == placeholders


@pytest.mark.parametrize(
    "labels, codes",
    [
        (["0", "1", "2", "-100"], ["-100"]),
        (["0", "1", "-1"], ["-1"]),
        (["1", "2", "3", "99", "-9"], ["99", "-9"]),
        (["0.5", "4.0", "-99.0"], ["-99.0"]),
        (["pos", "neg", "-1"], ["-1"]),
        (["-2", "-1", "0", "1"], []),
        ([str(n) for n in range(100)], []),
        (["pos", "neg", "99"], []),
        (["1", "-1"], []),
        (["+1", "0", "-1"], []),
    ],
)
def test_codes_of_missing_labels_are_found(labels, codes):
    assert find_codes(labels) == codes
