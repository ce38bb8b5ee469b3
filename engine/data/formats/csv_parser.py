"""CSV parser: pyarrow parses whole blocks, the standard library all other rows.

A block is parsed by pyarrow only if it has a single interpretation: each quote opens a cell, closes
it or is doubled inside; no line ends with a lone carriage return; every row has a cell per column.
Anything else is parsed row by row, so that rows, lines and errors are always those of `parse_rows`.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from engine.config.dataset import Reading
from engine.data.formats.batches import Batch, rows_to_batches
from engine.data.formats.lines import MAX_LINE_CHARACTERS, Lines
from engine.data.formats.rows import EMPTY_LINE, Remarks, Row
from engine.data.formats.text_blocks import BYTE_ORDER_MARK, TextBlocks
from engine.errors import BadFile
from engine.phrases import phrase

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

DELIMITERS = "\t,;|"
AFTER_LABEL = " "  # special delimiter: the first space ends the label
FASTTEXT = "__label__"
SEPARATOR_LINE = re.compile(rf'"?sep=([{DELIMITERS}])"?\r?\n?', re.IGNORECASE)
"""Excel's separator declaration in the first line."""
QUOTES_ADVICE = phrase(
    "Correct this row, or switch off “Quoted cells” if the quotes belong to the text."
)

csv.field_size_limit(MAX_LINE_CHARACTERS)


def fit_rows(
    rows: Iterable[Row], width: int, path: Path, remarks: Remarks, pad: bool
) -> Iterator[Row]:
    """Yield rows with `width` cells; with `pad`, shorter rows are filled up.

    Raises BadFile with the line for any other row.
    """
    for row in rows:
        if len(row.cells) == width:
            yield row
            continue
        missing = width - len(row.cells)
        if missing > 0 and pad:
            remarks.count(phrase("Row with missing cells, read as empty"), row.line)
            yield Row(row.line, row.cells + ("",) * missing)
        elif missing < 0 and not any(row.cells[width:]):
            remarks.count(phrase("Row with empty cells beyond the last column"), row.line)
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

    Consumes no more of `lines` than the yielded rows need.
    """
    if reading.delimiter == AFTER_LABEL:
        yield from _parse_labelled(lines, remarks)
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
                remarks.count(EMPTY_LINE, start)
            start = end + 1
    except csv.Error as error:
        raise _quote_error(error, path, start, before + reader.line_num) from error


def csv_reader(lines: Iterable[str], delimiter: str, quoted: bool) -> "CsvReader":
    """Make a strict reader."""
    if quoted:
        return csv.reader(lines, delimiter=delimiter, strict=True)
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, quotechar=None)


def _quote_error(error: csv.Error, path: Path, start: int, line: int) -> BadFile:
    text = str(error)
    if "field larger" in text:
        problem = phrase(
            "a cell that starts here is longer than {count:,} characters.",
            count=MAX_LINE_CHARACTERS,
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
    remarks.count(phrase("Cell with line breaks"), start)
    width = len(cells)
    for cell in cells if width > 1 else ():
        inner = cell.splitlines()[1:-1]
        look_like_rows = all(
            any(line.count(delimiter) == width - 1 for delimiter in DELIMITERS) for line in inner
        )
        if inner and look_like_rows:
            remarks.count(
                phrase(
                    "A cell extends to line {end} and its lines look like separate rows; a "
                    "quote may be missing",
                    end=end,
                ),
                start,
            )


def _parse_labelled(lines: Iterable[str], remarks: Remarks) -> Iterator[Row]:
    """Parse “LABEL text”, “LABEL:detail text”, and the several labels of fastText."""
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if not line.strip():
            remarks.count(EMPTY_LINE, number)
            continue
        label, _, text = line.partition(" ")
        while label.startswith(FASTTEXT) and text.startswith(FASTTEXT):
            other, _, text = text.partition(" ")
            label += f"|{other}"
        name, colon, detail = ("", "", "") if label.startswith(FASTTEXT) else label.partition(":")
        yield Row(number, (name, detail, text) if colon else (label, text))


_csv: Any = pyarrow.csv  # untyped: the stubs do not allow buffers
QUOTE, NEWLINE, RETURN = map(ord, '"\n\r')


def supports_blocks(reading: Reading) -> bool:
    """True if pyarrow supports the delimiter."""
    mark = reading.delimiter
    return len(mark) == 1 and mark.isascii() and mark not in '"\r\n '


def read_batches(
    lines: Lines, reading: Reading, width: int, remarks: Remarks, pad: bool, skipped: int
) -> Iterator[Batch]:
    """Read the rows below the first `skipped` in batches, equal to those of `fit_rows`."""
    text = TextBlocks(lines)
    if skipped:
        deque(islice(parse_rows(lines.path, text, reading, remarks), skipped), maxlen=0)
    names = [str(number) for number in range(width)]

    def parse_fast(content: bytes) -> Batch | None:
        start = content[:20].decode("utf-8", "replace")
        if text.lines_read == 0 and SEPARATOR_LINE.match(start):
            return None
        block = _find_block(content, reading, text.is_at_end)
        cells = None if block is None else _parse(content, block, reading, names)
        if block is None or cells is None:
            return None
        batch = _to_batch(content, block, cells, text.lines_read, remarks)
        text.consume(block.end, block.newlines)
        return batch

    def parse_slow(size: int) -> Iterator[Batch]:
        rows = text.limit(parse_rows(lines.path, text, reading, remarks, text.lines_read), size)
        return rows_to_batches(fit_rows(rows, width, lines.path, remarks, pad))

    yield from filter(len, text.parse(parse_fast, parse_slow))


class _Block(NamedTuple):
    """Complete rows at the start of some bytes."""

    end: int  # bytes
    quotes: NDArray[np.int64]  # positions
    newlines: int  # including that of the last row


def _find_block(content: bytes, reading: Reading, is_at_end: bool) -> _Block | None:
    """Find the complete rows; None if there are none or the quotes are ambiguous."""
    end = len(content) if is_at_end else content.rfind(b"\n") + 1
    codes = np.frombuffer(content, dtype=np.uint8)
    quotes = np.zeros(0, dtype=np.int64)
    if reading.quoted:
        quotes = np.flatnonzero(codes[:end] == QUOTE)
        while len(quotes) % 2 and end and not is_at_end:
            end = content.rfind(b"\n", 0, int(quotes[-1])) + 1
            quotes = quotes[: np.searchsorted(quotes, end)]
    if not end or len(quotes) % 2 or content.startswith(BYTE_ORDER_MARK):
        return None
    returns = content.count(b"\r", 0, end)
    if returns and returns != content.count(b"\r\n", 0, end):
        return None
    borders = np.zeros(256, dtype=bool)  # bytes that may precede an opening quote
    borders[[ord(reading.delimiter), NEWLINE, QUOTE]] = True
    previous = codes[quotes[0::2] - 1]  # a quote at 0 wraps around, and is checked separately
    following = codes[np.minimum(quotes[1::2] + 1, len(codes) - 1)]
    opens, closes = borders[previous], borders[following] | (following == RETURN)
    if len(quotes):
        opens[0] |= quotes[0] == 0
        closes[-1] |= quotes[-1] + 1 == len(codes)
    if not (opens.all() and closes.all()):
        return None
    return _Block(end, quotes, int(np.count_nonzero(codes[:end] == NEWLINE)))


def _parse(content: bytes, block: _Block, reading: Reading, names: list[str]) -> pa.Table | None:
    """Parse all non-empty rows as strings; None if a row has too few or too many cells."""
    try:
        table: pa.Table = _csv.read_csv(
            pa.BufferReader(pa.py_buffer(content).slice(0, block.end)),
            read_options=_csv.ReadOptions(
                use_threads=False, block_size=block.end + 1, column_names=names
            ),
            parse_options=_csv.ParseOptions(
                delimiter=reading.delimiter,
                quote_char='"' if reading.quoted else False,
                newlines_in_values=reading.quoted,
            ),
            convert_options=_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), check_utf8=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table


def _to_batch(
    content: bytes, block: _Block, table: pa.Table, before: int, remarks: Remarks
) -> Batch:
    """Number the rows of a block, and remark empty lines and line breaks."""
    cells = [column.combine_chunks() for column in table.columns]
    rows = block.newlines + (content[block.end - 1] != NEWLINE)
    if table.num_rows == rows:
        return Batch(np.arange(before + 1, before + 1 + rows, dtype=np.int64), cells)
    codes = np.frombuffer(content, dtype=np.uint8)[: block.end]
    newlines = np.flatnonzero(codes == NEWLINE)
    ends = newlines[np.searchsorted(block.quotes, newlines) % 2 == 0]
    if content[block.end - 1] != NEWLINE:
        ends = np.append(ends, block.end)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lines = np.searchsorted(newlines, starts) + before + 1
    last = np.searchsorted(newlines, ends) + before + 1  # last line of each row
    sizes = ends - starts
    empty = (sizes == 0) | ((sizes == 1) & (codes[np.minimum(starts, block.end - 1)] == RETURN))
    batch = Batch(lines[~empty], cells)
    assert len(batch) == table.num_rows
    for line in lines[empty]:
        remarks.count(EMPTY_LINE, int(line))
    last = last[~empty]
    for number in np.flatnonzero(last > batch.lines).tolist():
        row = tuple(column[number].as_py() for column in cells)
        remark_breaks(row, int(batch.lines[number]), int(last[number]), remarks)
    return batch
