"""Numbers in cells: 3.5, -2, 1e-3, and 3,5 with a decimal comma."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from engine.errors import StudioError
from engine.phrases import phrase

NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
MAX_NUMBER = 3e38  # limit of float32
MAX_NUMBER_CLASSES = 20  # distinct numbers that may still be classes
MIN_ROWS_PER_CLASS = 10  # if all labels are integers
BINS = 10
SAMPLE_LABELS = 5_000


def parse_number(cell: str) -> float | None:
    """Parse a finite number; None for any other cell."""
    if not NUMBER.fullmatch(cell.strip()):
        return None
    number = float(cell.strip().replace(",", "."))
    return number if abs(number) <= MAX_NUMBER else None


def parse_numbers(cells: Sequence[str], lines: Sequence[int] | None = None) -> NDArray[np.float32]:
    """Parse the number in each cell, float32 [cells]; `lines` are source lines from 1.

    Raises StudioError with the line if a cell has no finite number, or if cells mix decimal commas
    and points, which may mean thousands.
    """
    numbers = [parse_number(cell) for cell in cells]
    wrong = [index for index, number in enumerate(numbers) if number is None]
    if wrong:
        cell = cells[wrong[0]].strip()
        text = phrase("“{cell}”, which is not a finite number", cell=cell[:60]) if cell else "empty"
        more = (
            phrase("; {count:,} other rows have no number either", count=len(wrong) - 1)
            if len(wrong) > 1
            else ""
        )
        raise StudioError(
            "The number in {wrong} is {what}{more}.",
            "Use a number such as 3.5, remove the row, or choose another label column.",
            wrong=row_name(wrong[0], lines),
            what=text,
            more=more,
        )
    comma = next((index for index, cell in enumerate(cells) if "," in cell), None)
    point = next((index for index, cell in enumerate(cells) if "." in cell), None)
    if comma is not None and point is not None:
        raise StudioError(
            "The comma in numbers is ambiguous: “{strip}” in {comma}, but “{strip2}” in {point}.",
            "Write all numbers with a decimal point and without thousands separators.",
            strip=cells[comma].strip(),
            comma=row_name(comma, lines),
            strip2=cells[point].strip(),
            point=row_name(point, lines),
        )
    return np.array(numbers, dtype=np.float32)


def row_name(index: int, lines: Sequence[int] | None) -> str:
    """A row for the user: its line, or its number if the line is unknown."""
    return (
        phrase("row {place}", place=index + 1)
        if lines is None
        else phrase("line {lines}", lines=lines[index])
    )


def is_scale(labels: Mapping[str, int]) -> bool:
    """True if labels are scores, not classes: many numbers, with fractions or few rows each."""
    if len(labels) <= MAX_NUMBER_CLASSES:
        return False
    sample = list(islice(labels, 0, None, 1 + len(labels) // SAMPLE_LABELS))
    if any(parse_number(label) is None for label in sample):
        return False
    are_integers = all(label.strip().lstrip("+-").isdecimal() for label in sample)
    return not are_integers or sum(labels.values()) < MIN_ROWS_PER_CLASS * len(labels)


def scale_bins(labels: Mapping[str, int]) -> NDArray[np.int32]:
    """Decile of each numeric label by rows, int32 [labels]."""
    values = np.array([parse_number(label) for label in labels], dtype=np.float64)
    rows = np.array(list(labels.values()), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    before = np.cumsum(rows[order]) - rows[order]
    bins = np.zeros(len(values), dtype=np.int32)
    bins[order] = before * BINS // max(int(rows.sum()), 1)
    return bins
