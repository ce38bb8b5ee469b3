"""Rows in columnar batches, to process millions of rows by column.

A batch has the line of each row, int64 [rows], and a `pa.string()` array [rows] without nulls for
each column.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import BadFile

MAX_ROWS, MAX_CHARACTERS = 2_000, 4_000_000  # per batch


class Batch(NamedTuple):
    """Consecutive rows."""

    lines: NDArray[np.int64]  # [rows], first line of each row, from 1
    cells: "list[pa.Array[Any]]"  # for each column, string [rows]

    def __len__(self) -> int:
        return len(self.lines)

    def slice(self, first: int, rows: int) -> "Batch":
        """A range of rows, without copying."""
        lines = self.lines[first : first + rows]
        return Batch(lines, [column.slice(first, rows) for column in self.cells])

    def filter(self, mask: NDArray[np.bool_]) -> "Batch":
        """Select rows by a bool [rows] mask."""
        selection = pa.array(mask)
        return Batch(self.lines[mask], [column.filter(selection) for column in self.cells])

    def rows(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Line and cells of each row."""
        cells = zip(*map(to_texts, self.cells), strict=True)
        return zip(self.lines.tolist(), cells, strict=True)


def rows_to_batch(lines: Sequence[int], rows: Sequence[tuple[str, ...]]) -> Batch:
    """Build a batch from at least one row."""
    columns = zip(*rows, strict=True)
    cells: list[pa.Array[Any]] = [pa.array(column, type=pa.string()) for column in columns]
    return Batch(np.array(lines, dtype=np.int64), cells)


def rows_to_batches(rows: Iterable[tuple[int, tuple[str, ...]]]) -> Iterator[Batch]:
    """Build batches of at most `MAX_ROWS` rows; rows before an unreadable one precede its error."""
    lines: list[int] = []
    batch: list[tuple[str, ...]] = []
    characters = 0
    failure: BadFile | None = None
    try:
        for line, cells in rows:
            lines.append(line)
            batch.append(cells)
            characters += sum(map(len, cells))
            if len(batch) >= MAX_ROWS or characters >= MAX_CHARACTERS:
                yield rows_to_batch(lines, batch)
                lines, batch, characters = [], [], 0
    except BadFile as error:
        failure = error
    if batch:
        yield rows_to_batch(lines, batch)
    if failure is not None:
        raise failure


def to_texts(cells: "pa.Array[Any]") -> list[str]:
    return cast(list[str], cells.to_pylist())


def string_buffers(cells: "pa.Array[Any]") -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Offsets of the cells, int32 [rows + 1], and their bytes, uint8 [bytes]."""
    _, offset_buffer, content = cells.buffers()
    if offset_buffer is None or not len(cells):
        return np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8)
    offsets = np.frombuffer(memoryview(offset_buffer), dtype=np.int32)[
        cells.offset : cells.offset + len(cells) + 1
    ]
    empty = np.zeros(0, dtype=np.uint8)
    return offsets, empty if content is None else np.frombuffer(memoryview(content), dtype=np.uint8)


def blank_rows(cells: "pa.Array[Any]") -> NDArray[np.int64]:
    """Indices of rows whose cell is empty or white space."""
    offsets, content = string_buffers(cells)
    if not len(cells):
        return np.zeros(0, dtype=np.int64)
    begins, filled = offsets[:-1], np.diff(offsets) > 0
    first = np.zeros(len(cells), dtype=np.uint8)
    first[filled] = content[begins[filled]]
    candidates = np.flatnonzero(BLANK_STARTS[first])
    if not len(candidates):
        return candidates
    texts = to_texts(cells.take(candidates))
    is_blank = np.array([not text or text.isspace() for text in texts], dtype=bool)
    blank: NDArray[np.int64] = candidates[is_blank]
    return blank


WHITE_SPACE = filter(str.isspace, map(chr, range(0xD800)))
BLANK_STARTS = np.isin(np.arange(256), [0, *(character.encode()[0] for character in WHITE_SPACE)])
"""First bytes that a blank cell may have, bool [256]; 0 represents an empty cell."""
