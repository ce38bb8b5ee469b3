"""Exported tables are safe to open in a spreadsheet."""

import csv
import io

import pytest

from engine.files.spreadsheet import escape_cell, format_table, unescape_cell

FORMULAS = (
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x")',
    "  =1",
    "\t=1",
    "\r=1",
    "＝1+1",
)


@pytest.mark.parametrize("cell", FORMULAS)
def test_a_formula_becomes_text_unless_raw_cells_are_requested(cell):
    for raw, expected in ((False, f"'{cell}"), (True, cell)):
        text = format_table((cell, "b"), [("x", cell)], raw=raw)
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert rows == [[expected, "b"], ["x", expected]]


@pytest.mark.parametrize(
    "cell", ["-1.5", "+3", "-2e-05", "-40%", ".5", "", "-", "=", "a=b", "'tis", -1, 0.1, None]
)
def test_numbers_signs_and_other_texts_are_unchanged(cell):
    assert escape_cell(cell) == cell


@pytest.mark.parametrize(
    "cell", [*FORMULAS, "'=1", "''=1", "- I don't", "'- I don't", "'- no'", "'"]
)
def test_an_escaped_text_is_restored(cell):
    assert unescape_cell(str(escape_cell(cell))) == cell


def test_numbers_keep_all_their_digits():
    assert (
        format_table(("a",), [(0.1 + 0.2,), (-1e-300,)])
        == "a\r\n0.30000000000000004\r\n-1e-300\r\n"
    )
