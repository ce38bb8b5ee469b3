"""Row-by-row CSV parser on the standard library, the reference for quoting and errors."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config.dataset import Reading
from engine.data.formats.lines import MAX_LINE_CHARACTERS
from engine.data.formats.rows import Remarks, Row
from engine.errors import BadFile
from engine.phrases import phrase

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

DELIMITERS = "\t,;|"
AFTER_LABEL = " "  # as delimiter: the first space ends the label
SEPARATOR_LINE = re.compile(rf'"?sep=([{DELIMITERS}])"?\r?\n?', re.IGNORECASE)
"""Excel's separator declaration in the first line."""
EMPTY_LINE = phrase("Empty line skipped")
QUOTES_ADVICE = phrase(
    "Correct this place, or switch off “Quoted cells” if the quotes belong to the text."
)

csv.field_size_limit(MAX_LINE_CHARACTERS)


def even_rows(
    rows: Iterable[Row], width: int, path: Path, remarks: Remarks, pads: bool
) -> Iterator[Row]:
    """Rows with `width` cells; with `pads`, shorter ones are filled up.

    Raises BadFile with the line for any other row.
    """
    for row in rows:
        if len(row.cells) == width:
            yield row
            continue
        missing = width - len(row.cells)
        if missing > 0 and pads:
            remarks.saw(phrase("Row with missing cells, read as empty"), row.line)
            yield Row(row.line, row.cells + ("",) * missing)
        elif missing < 0 and not any(row.cells[width:]):
            remarks.saw(phrase("Row with empty cells beyond the last column"), row.line)
            yield Row(row.line, row.cells[:width])
        else:
            count = len(row.cells)
            raise BadFile(
                path,
                phrase(
                    "this row has {count} {what}, but there are {width} columns.",
                    count=count,
                    what="cell" if count == 1 else "cells",
                    width=width,
                ),
                phrase("Correct this row, or choose another delimiter."),
                line=row.line,
            )


def parse_rows(
    path: Path, lines: Iterable[str], reading: Reading, remarks: Remarks, before: int = 0
) -> Iterator[Row]:
    """Parse rows after `before` lines; empty lines and a first line `sep=;` are skipped.

    Takes no more of `lines` than the rows that were yielded.
    """
    if reading.delimiter == AFTER_LABEL:
        yield from _labelled(lines, remarks)
        return
    lines, has_separator_line = iter(lines), False
    if not before and (first := next(lines, None)) is not None:
        has_separator_line = SEPARATOR_LINE.fullmatch(first) is not None
        lines = chain(["\n" if has_separator_line else first], lines)
    reader = csv_reader(lines, reading.delimiter, reading.quoted)
    start, new = before + 1, tuple.__new__  # twice as fast as the constructor
    try:
        for cells in reader:
            end = before + reader.line_num
            if cells:
                if end > start:
                    remark_breaks(cells, start, end, remarks)
                yield new(Row, (start, tuple(cells)))
            elif start > 1 or not has_separator_line:
                remarks.saw(EMPTY_LINE, start)
            start = end + 1
    except csv.Error as error:
        raise _bad_quotes(error, path, start, before + reader.line_num) from error


def csv_reader(lines: Iterable[str], delimiter: str, quoted: bool) -> "CsvReader":
    """A strict reader."""
    if quoted:
        return csv.reader(lines, delimiter=delimiter, strict=True)
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, quotechar=None)


def _bad_quotes(error: csv.Error, path: Path, start: int, line: int) -> BadFile:
    text = str(error)
    if "field larger" in text:
        problem = phrase(
            "a cell that starts here is longer than {most:,} characters.",
            most=MAX_LINE_CHARACTERS,
        )
    elif "end of data" in text:
        problem = phrase("a quote that opens in this row is never closed.")
    elif line > start:
        problem = phrase(
            "a quote that opens in this row is closed in the middle of a cell in line {line}.",
            line=line,
        )
    else:
        problem = phrase("a quote is closed in the middle of a cell.")
    return BadFile(path, problem, QUOTES_ADVICE, line=start)


def remark_breaks(cells: Sequence[str], start: int, end: int, remarks: Remarks) -> None:
    """Remark line breaks in cells, and a possible missing quote if the lines look like rows."""
    remarks.saw(phrase("Cell with line breaks"), start)
    for cell in cells:
        inner = cell.splitlines()[1:-1]
        if len(cells) > 1 and inner and all(_looks_like_row(line, len(cells)) for line in inner):
            remarks.saw(
                phrase(
                    "A cell extends to line {end} and its lines look like separate rows; a "
                    "quote may be missing",
                    end=end,
                ),
                start,
            )


def _looks_like_row(line: str, width: int) -> bool:
    return any(line.count(delimiter) == width - 1 for delimiter in DELIMITERS)


def _labelled(lines: Iterable[str], remarks: Remarks) -> Iterator[Row]:
    """Parse “LABEL text” and “LABEL:detail text”."""
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if not line.strip():
            remarks.saw(EMPTY_LINE, number)
            continue
        label, _, text = line.partition(" ")
        name, colon, detail = label.partition(":")
        yield Row(number, (name, detail, text) if colon else (label, text))
