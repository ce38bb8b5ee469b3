"""Delimited tables: CSV, TSV, and lines that start with a label."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice, takewhile, zip_longest

import pyarrow.compute as pc

from engine.config.dataset import Reading
from engine.data.columns.choices import guess_choices
from engine.data.columns.label_sets import parse_flag
from engine.data.columns.mapping import LABELS, PAIRS, TEXTS
from engine.data.columns.names import plain_name
from engine.data.formats.batches import Batch, rows_to_batch
from engine.data.formats.csv_parser import (
    AFTER_LABEL,
    DELIMITERS,
    FASTTEXT,
    SEPARATOR_LINE,
    csv_reader,
    fit_rows,
    parse_rows,
    read_batches,
    supports_blocks,
)
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row, numbered_columns, unique_names
from engine.data.formats.survey_header import HEADER_SAMPLE, survey_header
from engine.errors import BadFile
from engine.files.spreadsheet import is_formula, unescape_cell
from engine.phrases import phrase

KNOWN_NAMES = {*TEXTS, *LABELS}
ESCAPED = phrase("Apostrophe before a text that looks like a formula left out")
ABOVE_HEADER = phrase("Row above the header skipped")
SAMPLE_ROWS = 200  # to find titles above the header
MIN_AGREEMENT = 0.9  # of the rows must have the same number of cells
NUMBERED_NAME = re.compile(r"([^\W\d](?:.*\D)?)(\d{1,5})")
RARE_DELIMITERS = "@^~"  # only between a text and its label
LABEL_NAME = re.compile(r"[\w+-][\w+ -]{0,30}")
MIN_LABELLED = 10  # lines
LABELLED = re.compile(r"(__label__\S+|[A-Z]+:[A-Za-z]+|[A-Z]{2,}):? +\S")


def open_table(lines: Lines, reading: Reading, remarks: Remarks) -> Content:
    """Columns and rows of a table.

    Every row must have a cell per column; BadFile names the line otherwise. Three exceptions are
    remarked: titles above the header, extra empty cells, and, in an unquoted TSV without a header,
    missing cells. An apostrophe before a formula is left out unless other formulas have none.
    """
    look_ahead = parse_rows(lines.path, lines.look_ahead(), reading, Remarks())
    first = next(look_ahead, None)
    if first is None:
        return Content((), iter(()))
    skipped, top = 0, [first]
    if reading.header:
        is_title = _is_title(first.cells)
        top = [first, *islice(look_ahead, SAMPLE_ROWS if is_title else HEADER_SAMPLE)]
        titles = count_titles([row.cells for row in top]) if is_title else 0
        for title in top[:titles]:
            remarks.count(ABOVE_HEADER, title.line)
        first = top[titles]
        skipped = titles + 1
        if (survey := survey_header([row.cells for row in top[titles:]])) is not None:
            first, skipped = Row(first.line, survey.names), titles + survey.rows
            remarks.add_note(survey.note(first.line))
    may_be_escaped = _may_be_escaped(chain(top[skipped:], look_ahead))
    if reading.header and may_be_escaped:
        first = Row(first.line, tuple(map(unescape_cell, first.cells)))
    columns, pad = _columns(first, lines, reading, remarks)
    width = len(columns)
    if supports_blocks(reading) and not lines.head_only:
        batches = read_batches(lines, reading, width, remarks, pad, skipped)
        if may_be_escaped:
            batches = (_unescape_batch(batch, remarks) for batch in batches)
        return Content(columns, None, batches)
    rows = islice(parse_rows(lines.path, lines, reading, remarks), skipped, None)
    fitted = fit_rows(rows, width, lines.path, remarks, pad)
    if may_be_escaped:
        fitted = (_unescape_row(row, remarks) for row in fitted)
    return Content(columns, fitted)


def _may_be_escaped(rows: Iterable[Row]) -> bool:
    """False if the first rows have a formula that no program wrote that escapes them."""
    try:
        return not any(is_formula(cell) for row in islice(rows, SAMPLE_ROWS) for cell in row.cells)
    except BadFile:  # raised again when its row is read
        return False


def _unescape_row(row: Row, remarks: Remarks) -> Row:
    if not any(cell.startswith("'") for cell in row.cells):
        return row
    cells = tuple(map(unescape_cell, row.cells))
    if count := sum(a != b for a, b in zip(cells, row.cells, strict=True)):
        remarks.count(ESCAPED, row.line, count)
    return Row(row.line, cells)


def _unescape_batch(batch: Batch, remarks: Remarks) -> Batch:
    if not any(pc.any(pc.starts_with(cells, "'")).as_py() for cells in batch.cells):
        return batch
    rows = [_unescape_row(Row(*row), remarks) for row in batch.rows()]
    return rows_to_batch([row.line for row in rows], [row.cells for row in rows])


def count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Number of titles above a header.

    A title row has at most one filled cell, which is not a known column name. All cells of the
    header are filled, and nearly all rows below have as many.
    """
    top = rows[:SAMPLE_ROWS]
    count = sum(1 for _ in takewhile(_is_title, top))
    body = top[count:]
    is_known = any(plain_name(cell) in KNOWN_NAMES for row in top[:count] for cell in row)
    if not count or is_known or not body or not all(map(str.strip, body[0])):
        return 0
    is_regular = sum(len(row) == len(body[0]) for row in body) >= MIN_AGREEMENT * len(body)
    return count if is_regular and has_header([list(row) for row in body]) else 0


def _is_title(cells: Sequence[str]) -> bool:
    return sum(map(bool, map(str.strip, cells))) <= 1


def _columns(
    first: Row, lines: Lines, reading: Reading, remarks: Remarks
) -> tuple[tuple[str, ...], bool]:
    """Columns of a table with this first row, and whether shorter rows are padded."""
    if reading.header:
        names = _drop_unused(first.cells, lines, reading)
        return unique_names(names, lines, remarks), False
    pad = reading.delimiter == "\t" and not reading.quoted
    width = len(first.cells)
    if pad:
        rows = parse_rows(lines.path, lines.look_ahead(), reading, Remarks())
        width = max(len(row.cells) for row in rows)
    if reading.delimiter == AFTER_LABEL:
        return ("label", "detail", "text") if width == 3 else ("label", "text"), False
    return unique_names(numbered_columns(width), lines, remarks), pad


def _drop_unused(names: tuple[str, ...], lines: Lines, reading: Reading) -> Sequence[str]:
    """Drop trailing names that are empty over empty columns.

    Some programs write a delimiter after the last cell.
    """
    width = len(_strip_empty(names))
    if width in (0, len(names)):
        return names
    rows = parse_rows(lines.path, lines.look_ahead(), reading, Remarks())
    return names[: max(len(_strip_empty(row.cells[: len(names)])) for row in rows)]


def _strip_empty(cells: Sequence[str]) -> Sequence[str]:
    end = len(cells)
    while end and not cells[end - 1].strip():
        end -= 1
    return cells[:end]


def guess_table(lines: list[str], suffix: str, is_complete: bool) -> Reading | None:
    """Recognise a table by its first lines; None if they are not a table.

    Without the suffix of a table, all rows must fit.
    """
    has_suffix = suffix in TABLE_SUFFIXES
    if not has_suffix and _are_labelled(lines):
        return Reading(format=TSV.name, delimiter=AFTER_LABEL, quoted=False, header=False)
    if not has_suffix and (reading := _guess_two_columns(lines)) is not None:
        return reading
    separator = SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    lines = lines[1:] if separator else lines
    delimiter = separator[1] if separator else _guess_delimiter(lines, suffix, is_complete)
    quoted = _is_quoted(lines, delimiter, is_complete)
    rows = _parse_sample(lines, delimiter, quoted, is_complete)[0]
    rows = rows[count_titles(rows) :]
    header = survey_header(rows) is not None or has_header(rows)
    if not has_suffix:
        widths = {len(row) for row in rows}
        known = header and {plain_name(cell) for cell in rows[0]} & KNOWN_NAMES
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
    filled = [line for line in lines if line.strip()]
    labels = [match[1] for match in map(LABELLED.match, filled) if match]
    is_few = len(set(labels)) <= max(2, min(200, len(filled) // 3))
    is_regular = len({":" in label and FASTTEXT not in label for label in labels}) == 1
    return len(filled) >= 4 and len(labels) == len(filled) and is_few and is_regular


def _guess_two_columns(lines: list[str]) -> Reading | None:
    """Recognise texts with a label before or after a sign, such as “I am glad;joy”."""
    for delimiter in (*DELIMITERS, *RARE_DELIMITERS):
        rows, _ = _parse_sample(lines, delimiter, False, True)
        if len(rows) < MIN_LABELLED or any(len(row) != 2 for row in rows):
            continue
        body = rows[1:]
        for labels, texts in (zip(*body, strict=True), [*zip(*body, strict=True)][::-1]):
            names, words = {*labels}, sum(" " in text.strip() for text in texts)
            is_few = 1 < len(names) <= max(2, min(200, len(body) // 3))
            is_prose = delimiter == "," and any(text[:1] == " " for text in texts)
            are_names = all(LABEL_NAME.fullmatch(name.strip()) for name in names)
            if is_few and are_names and not is_prose and 2 * words > len(body):
                is_tab = delimiter == TSV.delimiter
                format_, header = TSV if is_tab else CSV, has_header(rows)
                return Reading(
                    format=format_.name, delimiter=delimiter, quoted=False, header=header
                )
    return None


def _parse_sample(
    lines: list[str], delimiter: str, quoted: bool, is_complete: bool
) -> tuple[list[list[str]], bool]:
    """Rows of the first lines, and whether their quotes are balanced."""
    rows: list[list[str]] = []
    reader = csv_reader(lines, delimiter, quoted)
    try:
        rows.extend(row for row in reader if row)
    except csv.Error as error:
        return rows, not is_complete and "end of data" in str(error) and len(rows) > 1
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


def _guess_delimiter(lines: list[str], suffix: str, is_complete: bool) -> str:
    """The delimiter that gives most rows the same number of cells, more than one."""
    default = (TSV if suffix in TSV.suffixes else CSV).delimiter
    best, score = default, 0.0
    for delimiter in sorted(DELIMITERS, key=lambda d: d != default):
        for quoted in (True, False):
            rows, is_balanced = _parse_sample(lines, delimiter, quoted, is_complete)
            width, fraction = _agreement(rows, delimiter)
            if is_balanced and width > 1 and fraction >= MIN_AGREEMENT and fraction > score:
                best, score = delimiter, fraction
    return best


def _is_quoted(lines: list[str], delimiter: str, is_complete: bool) -> bool:
    """True if double quotes enclose cells, false if they are part of the text."""
    if not any(line.startswith('"') or f'{delimiter}"' in line for line in lines):
        return delimiter != "\t"
    rows, balanced = _parse_sample(lines, delimiter, True, is_complete)
    plain, _ = _parse_sample(lines, delimiter, False, is_complete)
    _, fraction = _agreement(rows, delimiter)
    width, plain_fraction = _agreement(plain, delimiter)
    is_uniform = plain_fraction == 1.0 and width > 1  # no quote contains a delimiter or a line end
    if not balanced:
        return _wraps_cells(plain) or not (
            is_uniform or (delimiter == "\t" and plain_fraction >= MIN_AGREEMENT)
        )
    if fraction > plain_fraction:
        return True
    if is_uniform and len(plain) > len(rows):
        return False  # as quotes, they would span whole rows
    return delimiter != "\t" or _wraps_cells(plain)


def _wraps_cells(rows: list[list[str]]) -> bool:
    """True if nearly all cells of some column are quoted."""
    body = rows[1:] or rows
    for column in zip_longest(*body, fillvalue=""):
        wrapped = sum(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in column)
        if wrapped >= MIN_AGREEMENT * len(column):
            return True
    return False


def has_header(rows: list[list[str]]) -> bool:
    """True if the first row has column names.

    It does if it has a known name that does not recur below like a label, numbered names, or names
    of multiple choice; otherwise, if it is text above numbers or short above long texts. Empty
    columns are ignored, and a column of row numbers needs no name.
    """
    if not rows or any(len(cell) > 100 for cell in rows[0]):
        return False
    body = rows[1:]
    columns = [[row[i] for row in body if i < len(row)] for i in range(len(rows[0]))]
    filled = [n for n, cell in enumerate(rows[0]) if cell or any(columns[n])]
    first, columns = [rows[0][n] for n in filled], [columns[n] for n in filled]
    index = [str(n) for n in range(len(body))]  # as programs number rows
    if len(first) > 1 and not first[0] and len(index) > 1 and columns[0] == index:
        return all(first[1:])
    if sum(map(_is_option, first, columns)) > 1:
        return True
    names = {plain_name(cell) for cell in first}
    if names & KNOWN_NAMES or any(names >= {*pair} for pair in PAIRS):
        return not any(
            cell in column and len(set(column)) < len(column)
            for cell, column in zip(first, columns, strict=True)
        )
    if guess_choices(tuple(first), []) is not None or _are_numbered(first):
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
        is_few = len(set(column)) <= len(column) / 3
        votes += is_few and not _is_number(cell) and len(column) > 5
    return votes > 0


def _is_option(cell: str, column: list[str]) -> bool:
    """True if a column has its name or nothing in each row, as Typeform writes options."""
    return {*column} == {cell, ""} and parse_flag(cell, "") is None


def _are_numbered(names: list[str]) -> bool:
    """True for a word with ascending numbers: c0, c1, c2."""
    matches = [NUMBERED_NAME.fullmatch(name) for name in names]
    stems = {match[1] for match in matches if match is not None}
    numbers = [int(match[2]) for match in matches if match is not None]
    is_ascending = numbers == list(range(numbers[0], numbers[0] + len(names))) if numbers else False
    return len(names) > 2 and len(stems) == 1 and is_ascending


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
