"""Numbers in cells: 3.5, -2, 1e-3, and 3,5 with a decimal comma."""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from engine.errors import StudioError
from engine.phrases import phrase

NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
MEASURE = re.compile(  # a number with its unit
    r"""(?P<before>(?:[A-Z]{3}\ )?[$€£¥₹]?\ ?)
    (?P<number>\d{1,3}:\d\d:\d\d
      |[+\-−]?\d{1,3}(?:(?P<sign>[\s.,'’٬])\d{3}(?:(?P=sign)\d{3})*)(?:[.,٫]\d+)?
      |[+\-−]?\d+(?:[.,٫]\d+)?)
    (?P<after>\s?(?:%|[$€£¥₹°]?[^\W\d_]*\.?|/\s?\d+|out\ of\ \d+))""",
    re.VERBOSE,
)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+", re.ASCII)
SPELLING_ADVICE = phrase(
    "Write all numbers with a decimal point and without units and thousands separators, or import"
    " the file and choose a reading among its findings."
)
MAX_NUMBER = 3e38  # limit of float32
MAX_NUMBER_CLASSES = 20  # distinct numbers that may still be classes
MIN_ROWS_PER_CLASS = 10  # if all labels are integers
BINS = 10
SAMPLE_LABELS = 5_000
ID = re.compile(r"0|[1-9]\d{0,3}", re.ASCII)
MIN_ASCENDING = 0.9  # of the cells with several ids; of decimals, half ascend


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
    problem = comma_problem(cells, lambda index: row_name(index, lines))
    if problem is not None:
        raise problem
    return np.array(numbers, dtype=np.float32)


def comma_problem(
    cells: Collection[str], name_row: Callable[[int], str] | None = None
) -> StudioError | None:
    """The problem of commas that may separate thousands: “1,368”, or “2,5” and “3.5” together."""

    def quote(index: int, cell: str) -> str:
        shown = f"“{cell.strip()[:60]}”"
        if name_row is None:
            return shown
        return phrase("{shown} in {place}", shown=shown, place=name_row(index))

    commas = [(index, cell) for index, cell in enumerate(cells) if "," in cell]
    points = ((index, cell) for index, cell in enumerate(cells) if "." in cell)
    other = next(points, None)
    if commas and other is not None:
        return StudioError(
            "The comma in numbers is ambiguous: {comma}, but {point}.",
            SPELLING_ADVICE,
            comma=quote(*commas[0]),
            point=quote(*other),
        )
    if commas and all(THOUSANDS.fullmatch(cell.strip()) for _, cell in commas):
        return StudioError(
            "The comma in {comma} may be a decimal comma or separate thousands.",
            SPELLING_ADVICE,
            comma=quote(*commas[0]),
        )
    return None


def unit_problem(cells: Collection[str]) -> StudioError | None:
    """The problem of labels that are numbers only without their unit or other signs."""
    plain = plain_numbers(cells)
    if plain is None:
        return None
    return StudioError(
        "The labels are numbers with a unit or other signs, such as “{cell}”.",
        SPELLING_ADVICE,
        cell=next(cell for cell in plain if cell != plain[cell])[:60],
    )


def may_be_thousands(cells: Collection[str]) -> bool:
    """True if every point may separate thousands: “1.368”."""
    points = [cell for cell in cells if "." in cell]
    commas = [cell.strip().replace(".", ",") for cell in points]
    return bool(points) and all(map(THOUSANDS.fullmatch, commas))


def plain_numbers(cells: Collection[str]) -> dict[str, str] | None:
    """Plain spellings of numbers with a unit or other signs: “4.5 stars”, “80 %”, “1’368.5”, “3/5”.

    None if all are plain, or one is no number, or they have several units. Durations such as
    1:02:03 become seconds.
    """
    sample = islice(cells, 0, None, 1 + len(cells) // SAMPLE_LABELS)
    if all(parse_number(cell) is not None for cell in sample if cell.strip()) or are_ids(cells):
        return None
    plain, units = dict[str, str](), set[tuple[str, str]]()
    for cell in filter(str.strip, cells):
        part = MEASURE.fullmatch(cell.strip())
        number = "" if part is None else _plain(part["number"])
        if part is None or parse_number(number) is None:
            return None
        units.add((part["before"].strip(), part["after"].strip().rstrip("s")))
        plain[cell] = number
    return plain if len(units) == 1 else None


def _plain(number: str) -> str:
    """A number with ASCII digits and a decimal point."""
    digits = "".join(str(unicodedata.digit(sign, sign)) for sign in number)
    digits = re.sub(r"[\s'’٬]", "", digits.replace("−", "-").replace("٫", "."))
    if ":" in digits:
        hours, minutes, seconds = map(int, digits.split(":"))
        return str(3600 * hours + 60 * minutes + seconds)
    if digits.count(".") > 1 or digits.find(".") < digits.find(","):
        digits = digits.replace(".", "")
    if digits.count(",") > 1 or "." in digits:
        return digits.replace(",", "")
    return digits.replace(",", ".")


def row_name(index: int, lines: Sequence[int] | None) -> str:
    """A row for the user: its line, or its number if the line is unknown."""
    return (
        phrase("row {place}", place=index + 1)
        if lines is None
        else phrase("line {lines}", lines=lines[index])
    )


def are_ids(cells: Collection[str]) -> bool:
    """True if commas separate ids, as in “2,5,9”: they are no decimal commas or thousands.

    All parts are whole numbers, and either a cell has more than two, or the two parts of nearly
    every cell ascend and a second part also occurs alone.
    """
    parts = [cell.strip().split(",") for cell in cells if cell.strip()]
    several = [ids for ids in parts if len(ids) > 1]
    if not several or not all(ID.fullmatch(part) for ids in parts for part in ids):
        return False
    alone = {ids[0] for ids in parts if len(ids) == 1}
    ascending = sum([*map(int, ids)] == sorted({*map(int, ids)}) for ids in several)
    if any(len(ids) > 2 for ids in several):
        return not all(len(part) == 3 for ids in several for part in ids[1:])
    return ascending >= MIN_ASCENDING * len(several) and any(b in alone for _, b in several)


def is_scale(labels: Mapping[str, int]) -> bool:
    """True if labels are scores, not classes: many numbers, with fractions or few rows each.

    Empty labels do not count.
    """
    filled = {label: rows for label, rows in labels.items() if label.strip()}
    if len(filled) <= MAX_NUMBER_CLASSES:
        return False
    sample = list(islice(filled, 0, None, 1 + len(filled) // SAMPLE_LABELS))
    if are_ids(sample) or any(parse_number(label) is None for label in sample):
        return False
    are_integers = all(label.strip().lstrip("+-").isdecimal() for label in sample)
    return not are_integers or sum(filled.values()) < MIN_ROWS_PER_CLASS * len(filled)


def scale_bins(labels: Mapping[str, int]) -> NDArray[np.int32]:
    """Decile of each numeric label by rows, int32 [labels]; another bin for no number."""
    values = np.array([parse_number(label) for label in labels], dtype=np.float64)
    rows = np.array(list(labels.values()), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    before = np.cumsum(rows[order]) - rows[order]
    bins = np.zeros(len(values), dtype=np.int32)
    bins[order] = before * BINS // max(int(rows.sum()), 1)
    bins[np.isnan(values)] = BINS
    return bins
