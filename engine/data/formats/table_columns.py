"""Columnar CSV parser: pyarrow parses whole blocks, `table_rows` the rest.

A block is parsed by pyarrow only if it has a single interpretation: each quote opens a cell, closes
it or is doubled inside; no line ends with a lone carriage return; every row has a cell per column.
Anything else is parsed by `table_rows` for some rows, so that rows, lines and errors are always
those of `table_rows`.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from engine.config.dataset import Reading
from engine.data.formats.batches import Batch, rows_to_batches
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.data.formats.table_rows import (
    EMPTY_LINE,
    SEPARATOR_LINE,
    even_rows,
    parse_rows,
    remark_breaks,
)
from engine.data.formats.text_blocks import MARK, STEP, TextBlocks

_csv: Any = pyarrow.csv  # untyped: the stubs do not allow buffers
QUOTE, NEWLINE, RETURN = map(ord, '"\n\r')


def can_be_cut(reading: Reading) -> bool:
    """True if pyarrow supports the delimiter."""
    mark = reading.delimiter
    return len(mark) == 1 and mark.isascii() and mark not in '"\r\n '


def batches_of(
    lines: Lines, reading: Reading, width: int, remarks: Remarks, pads: bool, above: int
) -> Iterator[Batch]:
    """Batches of the rows below the first `above`, equal to those of `even_rows`."""
    text = TextBlocks(lines)
    if above:
        deque(islice(parse_rows(lines.path, text, reading, remarks), above), maxlen=0)
    parse = _Parser(reading, width)
    step = STEP
    while content := text.block():
        has_separator_line = text.before == 0 and SEPARATOR_LINE.match(
            content[:20].decode("utf-8", "replace")
        )
        block = None if has_separator_line else _block(content, reading, text.is_over)
        found = None if block is None else parse(content, block)
        if block is None or found is None:
            rows = parse_rows(lines.path, text, reading, remarks, text.before)
            rows = text.some(rows, min(step, len(content)))
            yield from rows_to_batches(even_rows(rows, width, lines.path, remarks, pads))
            step *= 2
            continue
        step = STEP
        batch = _numbered(content, block, found, text.before, remarks)
        text.take(block.end, block.newlines)
        if len(batch):
            yield batch


class _Block(NamedTuple):
    """Whole rows at the start of some bytes."""

    end: int  # bytes
    quotes: NDArray[np.int64]  # positions
    newlines: int  # including that of the last row


def _block(content: bytes, reading: Reading, is_over: bool) -> _Block | None:
    """As many whole rows as there are; None if there is none, or the quotes are ambiguous."""
    end = len(content) if is_over else content.rfind(b"\n") + 1
    codes = np.frombuffer(content, dtype=np.uint8)
    quotes = np.zeros(0, dtype=np.int64)
    if reading.quoted:
        quotes = np.flatnonzero(codes[:end] == QUOTE)
        while len(quotes) % 2 and end and not is_over:
            end = content.rfind(b"\n", 0, int(quotes[-1])) + 1
            quotes = quotes[: np.searchsorted(quotes, end)]
    if not end or len(quotes) % 2 or content.startswith(MARK):
        return None
    returns = content.count(b"\r", 0, end)
    if returns and returns != content.count(b"\r\n", 0, end):
        return None
    ends = np.zeros(256, dtype=bool)  # bytes that may precede an opening quote
    ends[[ord(reading.delimiter), NEWLINE, QUOTE]] = True
    before = codes[quotes[0::2] - 1]  # a quote at 0 wraps around, and is checked separately
    behind = codes[np.minimum(quotes[1::2] + 1, len(codes) - 1)]
    opens, closes = ends[before], ends[behind] | (behind == RETURN)
    if len(quotes):
        opens[0] |= quotes[0] == 0
        closes[-1] |= quotes[-1] + 1 == len(codes)
    if not (opens.all() and closes.all()):
        return None
    return _Block(end, quotes, int(np.count_nonzero(codes[:end] == NEWLINE)))


class _Parser:
    """Parses a block into columns of strings."""

    def __init__(self, reading: Reading, width: int) -> None:
        self._names = [str(number) for number in range(width)]
        self._parsing = pyarrow.csv.ParseOptions(
            delimiter=reading.delimiter,
            quote_char='"' if reading.quoted else False,
            newlines_in_values=reading.quoted,
        )
        self._converting = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(self._names, pa.string()), check_utf8=False
        )

    def __call__(self, content: bytes, block: _Block) -> pa.Table | None:
        """Cells of all non-empty rows; None if one has too few or too many."""
        reading = pyarrow.csv.ReadOptions(
            use_threads=False, block_size=block.end + 1, column_names=self._names
        )
        try:
            found: pa.Table = _csv.read_csv(
                pa.BufferReader(pa.py_buffer(content).slice(0, block.end)),
                read_options=reading,
                parse_options=self._parsing,
                convert_options=self._converting,
            )
        except pa.ArrowInvalid:
            return None
        return found


def _numbered(
    content: bytes, block: _Block, found: pa.Table, before: int, remarks: Remarks
) -> Batch:
    """Number the rows of a block, and remark empty lines and line breaks."""
    cells = [column.combine_chunks() for column in found.columns]
    rows = block.newlines + (content[block.end - 1] != NEWLINE)
    if found.num_rows == rows:
        return Batch(np.arange(before + 1, before + 1 + rows, dtype=np.int64), cells)
    codes = np.frombuffer(content, dtype=np.uint8)[: block.end]
    newlines = np.flatnonzero(codes == NEWLINE)
    ends = newlines[np.searchsorted(block.quotes, newlines) % 2 == 0]
    if content[block.end - 1] != NEWLINE:
        ends = np.append(ends, block.end)
    begins = np.concatenate([[0], ends[:-1] + 1])
    lines = np.searchsorted(newlines, begins) + before + 1
    last = np.searchsorted(newlines, ends) + before + 1  # last line of each row
    sizes = ends - begins
    empty = (sizes == 0) | ((sizes == 1) & (codes[np.minimum(begins, block.end - 1)] == RETURN))
    batch = Batch(lines[~empty], cells)
    assert len(batch) == found.num_rows
    for line in lines[empty]:
        remarks.saw(EMPTY_LINE, int(line))
    last = last[~empty]
    for number in np.flatnonzero(last > batch.lines).tolist():
        row = tuple(column[number].as_py() for column in cells)
        remark_breaks(row, int(batch.lines[number]), int(last[number]), remarks)
    return batch
