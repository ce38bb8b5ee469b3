"""Delimited tables: CSV, TSV, and lines that start with a label."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice, takewhile, zip_longest

from engine.config.dataset import Reading
from engine.data.columns.choices import guess_choices
from engine.data.columns.mapping import LABELS, PAIRS, TEXTS
from engine.data.columns.names import plain_name
from engine.data.formats.csv_parser import (
    AFTER_LABEL,
    DELIMITERS,
    SEPARATOR_LINE,
    can_be_cut,
    csv_reader,
    even_rows,
    parse_rows,
    read_batches,
)
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row, numbered_columns, unique_names
from engine.phrases import phrase

KNOWN = {*TEXTS, *LABELS}  # column names
ABOVE_HEADER = phrase("Row above the header skipped")
LOOKED_AT = 200  # rows used to find titles above the header
AGREE = 0.9  # fraction of the rows that must have the same number of cells
COUNTED = re.compile(r"([^\W\d](?:.*\D)?)(\d{1,5})")  # name of a numbered column
LABELLED = re.compile(r"(__label__\S+|[A-Z]+:[A-Za-z]+|[A-Z]{2,}):? +\S")


def open_table(lines: Lines, reading: Reading, remarks: Remarks) -> Content:
    """Columns and rows of a table.

    Every row must have a cell per column; BadFile names the line otherwise. Three exceptions are
    remarked: titles above the header, extra empty cells, and, in an unquoted TSV without a header,
    missing cells.
    """
    ahead = parse_rows(lines.path, lines.ahead(), reading, Remarks())
    first = next(ahead, None)
    if first is None:
        return Content((), iter(()))
    titles: list[Row] = []
    if reading.header and _is_title(first.cells):
        top = [first, *islice(ahead, LOOKED_AT - 1)]
        titles = top[: titles_above([row.cells for row in top])]
        first = top[len(titles)]
    for title in titles:
        remarks.saw(ABOVE_HEADER, title.line)
    columns, pads = _columns(first, lines, reading, remarks)
    above = len(titles) + int(reading.header)
    width = len(columns)
    if can_be_cut(reading) and not lines.glance:
        return Content(columns, None, read_batches(lines, reading, width, remarks, pads, above))
    rows = islice(parse_rows(lines.path, lines, reading, remarks), above, None)
    return Content(columns, even_rows(rows, width, lines.path, remarks, pads))


def titles_above(rows: Sequence[Sequence[str]]) -> int:
    """Number of titles above a header.

    A title row has at most one filled cell, which is not a usual column name. All cells of the
    header are filled, and nearly all rows below have as many.
    """
    top = rows[:LOOKED_AT]
    count = sum(1 for _ in takewhile(_is_title, top))
    below = top[count:]
    is_known = any(plain_name(cell) in KNOWN for row in top[:count] for cell in row)
    if not count or is_known or not below or not all(map(str.strip, below[0])):
        return 0
    alike = sum(len(row) == len(below[0]) for row in below) >= AGREE * len(below)
    return count if alike and has_header([list(row) for row in below]) else 0


def _is_title(cells: Sequence[str]) -> bool:
    return sum(map(bool, map(str.strip, cells))) <= 1


def _columns(
    first: Row, lines: Lines, reading: Reading, remarks: Remarks
) -> tuple[tuple[str, ...], bool]:
    """Columns of a table with this first row, and whether shorter rows are padded."""
    if reading.header:
        names = _without_unused(first.cells, lines, reading)
        return unique_names(names, lines, remarks), False
    pads = reading.delimiter == "\t" and not reading.quoted
    width = len(first.cells)
    if pads:
        rows = parse_rows(lines.path, lines.ahead(), reading, Remarks())
        width = max(len(row.cells) for row in rows)
    if reading.delimiter == AFTER_LABEL:
        return ("label", "detail", "text") if width == 3 else ("label", "text"), False
    return unique_names(numbered_columns(width), lines, remarks), pads


def _without_unused(names: tuple[str, ...], lines: Lines, reading: Reading) -> Sequence[str]:
    """Drop trailing names that are empty over empty columns.

    Some programs write a delimiter after the last cell.
    """
    width = len(_without_empty_end(names))
    if width in (0, len(names)):
        return names
    rows = parse_rows(lines.path, lines.ahead(), reading, Remarks())
    return names[: max(len(_without_empty_end(row.cells[: len(names)])) for row in rows)]


def _without_empty_end(cells: Sequence[str]) -> Sequence[str]:
    end = len(cells)
    while end and not cells[end - 1].strip():
        end -= 1
    return cells[:end]


def guess_table(lines: list[str], suffix: str, whole: bool) -> Reading | None:
    """Reading of the first lines as a table, or None.

    Without the suffix of a table, all rows must fit.
    """
    named = suffix in TABLE_SUFFIXES
    if not named and _are_labelled(lines):
        return Reading(format=TSV.name, delimiter=AFTER_LABEL, quoted=False, header=False)
    separator = SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    lines = lines[1:] if separator else lines
    delimiter = separator[1] if separator else _delimiter(lines, suffix, whole)
    quoted = _quoted(lines, delimiter, whole)
    rows = _sample(lines, delimiter, quoted, whole)[0]
    rows = rows[titles_above(rows) :]
    header = has_header(rows)
    if not named:
        widths = {len(row) for row in rows}
        known = header and {plain_name(cell) for cell in rows[0]} & KNOWN
        if len(widths) != 1 or widths == {1} or len(rows) < 2:
            return None
        if delimiter != "\t" and not known:
            return None
    return Reading(
        format=TSV.name if delimiter == TSV.delimiter else CSV.name,
        delimiter=delimiter,
        quoted=quoted,
        header=header,
    )


def _are_labelled(lines: list[str]) -> bool:
    full = [line for line in lines if line.strip()]
    labels = [match[1] for match in map(LABELLED.match, full) if match]
    few = len(set(labels)) <= max(2, min(200, len(full) // 3))
    alike = len({":" in label for label in labels}) == 1
    return len(full) >= 4 and len(labels) == len(full) and few and alike


def _sample(
    lines: list[str], delimiter: str, quoted: bool, whole: bool
) -> tuple[list[list[str]], bool]:
    """Rows of the first lines, and whether their quotes are balanced."""
    rows: list[list[str]] = []
    reader = csv_reader(lines, delimiter, quoted)
    try:
        rows.extend(row for row in reader if row)
    except csv.Error as error:
        return rows, not whole and "end of data" in str(error) and len(rows) > 1
    return rows, True


def _agreement(rows: list[list[str]], delimiter: str) -> tuple[int, float]:
    """The most frequent number of cells, and the fraction of rows that have it.

    Tab-separated rows may have more: text has no tabs, and `open_table` pads the others.
    """
    if not rows:
        return 0, 0.0
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if delimiter == "\t" and width > 2:
        count = sum(len(row) >= width for row in rows)
    return width, count / len(rows)


def _delimiter(lines: list[str], suffix: str, whole: bool) -> str:
    """The delimiter that gives most rows the same number of cells, more than one."""
    usual = (TSV if suffix in TSV.suffixes else CSV).delimiter
    best, score = usual, 0.0
    for delimiter in sorted(DELIMITERS, key=lambda d: d != usual):
        for quoted in (True, False):
            rows, paired = _sample(lines, delimiter, quoted, whole)
            width, fraction = _agreement(rows, delimiter)
            if paired and width > 1 and fraction >= AGREE and fraction > score:
                best, score = delimiter, fraction
    return best


def _quoted(lines: list[str], delimiter: str, whole: bool) -> bool:
    """True if double quotes enclose cells, false if they are part of the text."""
    if not any(line.startswith('"') or f'{delimiter}"' in line for line in lines):
        return delimiter != "\t"
    rows, paired = _sample(lines, delimiter, True, whole)
    plain, _ = _sample(lines, delimiter, False, whole)
    _, fraction = _agreement(rows, delimiter)
    width, plain_fraction = _agreement(plain, delimiter)
    even = plain_fraction == 1.0 and width > 1  # no quote contains a delimiter or a line end
    if not paired:
        return _wraps_cells(plain) or not (even or (delimiter == "\t" and plain_fraction >= AGREE))
    if fraction > plain_fraction:
        return True
    if even and len(plain) > len(rows):
        return False  # as quotes, they would span whole rows
    return delimiter != "\t" or _wraps_cells(plain)


def _wraps_cells(rows: list[list[str]]) -> bool:
    """True if nearly all cells of some column are quoted."""
    below = rows[1:] or rows
    for column in zip_longest(*below, fillvalue=""):
        wrapped = sum(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in column)
        if wrapped >= AGREE * len(column):
            return True
    return False


def has_header(rows: list[list[str]]) -> bool:
    """True if the first row has column names.

    It has if it contains a usual name, numbered names, or those of multiple choice; not if one of
    its cells recurs below like a label; otherwise if it is text above numbers, or short above long
    texts. Empty columns are ignored, and a column of row numbers needs no name.
    """
    if not rows or any(len(cell) > 100 for cell in rows[0]):
        return False
    below = rows[1:]
    columns = [[row[i] for row in below if i < len(row)] for i in range(len(rows[0]))]
    full = [n for n, cell in enumerate(rows[0]) if cell or any(columns[n])]
    first, columns = [rows[0][n] for n in full], [columns[n] for n in full]
    index = [str(n) for n in range(len(below))]  # as programs number rows
    if len(first) > 1 and not first[0] and len(index) > 1 and columns[0] == index:
        return all(first[1:])
    names = {plain_name(cell) for cell in first}
    if names & KNOWN or any(names >= {*pair} for pair in PAIRS):
        return not any(
            cell in column and len(set(column)) < len(column)
            for cell, column in zip(first, columns, strict=True)
        )
    if guess_choices(tuple(first), []) is not None or _are_counted(first):
        return True
    if not all(first) or len(set(first)) < len(first) or not all(columns):
        return False
    votes = 0
    for cell, column in zip(first, columns, strict=True):
        if cell in column:
            return False
        votes += _is_number(column[0]) and all(map(_is_number, column)) and not _is_number(cell)
        votes -= _is_number(cell)
        length = sum(map(len, column)) / len(column)
        votes += length > 20 and len(cell) < length / 3 and cell.count(" ") < 3
        few = len(set(column)) <= len(column) / 3
        votes += few and not _is_number(cell) and len(column) > 5
    return votes > 0


def _are_counted(names: list[str]) -> bool:
    """True for a word with ascending numbers: c0, c1, c2."""
    matches = [COUNTED.fullmatch(name) for name in names]
    stems = {match[1] for match in matches if match is not None}
    numbers = [int(match[2]) for match in matches if match is not None]
    follow = numbers == list(range(numbers[0], numbers[0] + len(names))) if numbers else False
    return len(names) > 2 and len(stems) == 1 and follow


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


OPTIONS = ("encoding", "delimiter", "quoted", "header")
CSV = Format("csv", "CSV", (".csv",), open_table, guess_table, options=OPTIONS, delimiter=",")
TSV = Format(
    "tsv", "TSV", (".tsv", ".tab"), open_table, guess_table, options=OPTIONS, delimiter="\t"
)
TABLE_SUFFIXES = CSV.suffixes + TSV.suffixes
