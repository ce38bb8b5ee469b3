"""Rows on their way into a version of a data set: written in groups, counted, and cleaned."""

from array import array
from collections import Counter
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.data.columns.label_sets import yes_or_no
from engine.data.columns.names import split_named
from engine.data.columns.plain_texts import plain_text, texts_that_group
from engine.data.formats.rows import Remarks
from engine.errors import BadFile
from engine.phrases import phrase
from engine.spec.dataset import SPLITS, Cleaning, Mapping, Split

GROUP_ROWS = 10_000
GROUP_CELLS = 1_000_000
GROUP_CHARACTERS = 32_000_000
MAX_SPAN_TYPES = 1_000  # of spans; whoever has more took something else for tags
FREE = -1  # a row whose split is still to be drawn
FIRST_ROWS = 2_000  # by which columns are told apart
NO_TEXT, NO_LABEL = ABOUT_EMPTY_CELLS = (phrase("Row without text"), phrase("Row without label"))


class Collected(NamedTuple):
    """What one reading of all sources gave; the rows lie in a file."""

    columns: tuple[str, ...]
    rows: Path
    given: NDArray[np.int8]  # [rows], the split that source or column says, FREE where none does
    label_numbers: NDArray[np.int32]  # [rows], an index into `labels`
    labels: dict[str, int]  # how many rows have each
    flags: dict[str, int]  # how many rows say yes in each such column
    spans: dict[str, int]  # how many there are of each type
    sha256: dict[str, str]  # by the path of the source
    notes: list[str]
    empty: dict[str, NDArray[np.int32]]  # by column in use, the rows in which it is empty
    first: list[tuple[str, ...]]  # rows, no more than `FIRST_ROWS`
    text_keys: NDArray[np.int64]  # [rows], equal where the texts are: of the passage, or of all
    passages_are_keys: bool  # whether rows are questions, and `text_keys` are of passages


class RowWriter:
    """Writes rows in groups, and keeps the label and the split of each."""

    def __init__(
        self,
        path: Path,
        columns: tuple[str, ...],
        mapping: Mapping,
        split: Split,
        cleaning: Cleaning,
    ) -> None:
        self.columns, self._path = columns, path
        self._used = {name: columns.index(name) for name in mapping.columns}
        self._filled = {name: columns.index(name) for name in cleaning.skip_empty}
        self._spellings = cleaning.spellings
        self._empty: dict[str, list[int]] = {}
        self._first: list[tuple[str, ...]] = []
        self._text = columns.index(mapping.text)
        self._label = None if mapping.label is None else columns.index(mapping.label)
        self._tags = None if mapping.tags is None else columns.index(mapping.tags)
        self._flags = {name: columns.index(name) for name in mapping.flags}
        self._with_flag = Counter[str](dict.fromkeys(mapping.flags, 0))
        self._split_column = None if split.column is None else columns.index(split.column)
        self._group_rows = max(1, min(GROUP_ROWS, GROUP_CELLS // len(columns)))
        self._is_asked = mapping.pair is not None and mapping.answers is not None
        self._texts = [columns.index(name) for name in texts_that_group(mapping)]
        self._text_keys = array("q")
        self._given, self._label_numbers = array("b"), array("i")
        self._numbers: dict[str, int] = {}  # of labels
        self._lines: list[int] = []
        self._rows: list[tuple[str, ...]] = []
        self._characters = 0
        kinds: list[tuple[str, pa.DataType]] = [(name, pa.string()) for name in columns]
        self._schema = pa.schema([*kinds, ("_line", pa.int64())])
        self._file = pq.ParquetWriter(path, self._schema, compression="lz4")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is still in memory; the file is whole then."""
        if self._file.is_open:
            self._flush()
            self._file.close()

    def __len__(self) -> int:
        return len(self._given)

    def append(
        self,
        row: tuple[str, ...],
        line: int,
        given: int,
        path: Path,
        remarks: Remarks,
        changes: Remarks | None = None,
    ) -> None:
        """Append a row of the split `given`, unless a column says another, and count it.

        `changes` is told what was changed in the row; None: `remarks` is.
        """
        if self._label is not None:
            row = self._with_plain_label(row, remarks if changes is None else changes, line)
            label = row[self._label]
            self._label_numbers.append(self._numbers.setdefault(label, len(self._numbers)))
        self._note_empty(row, remarks, line)
        for name, place in self._flags.items():
            self._with_flag[name] += self._says_yes(row[place], name, path, line)
        self._text_keys.append(self._key_of(row))
        here = self._split_column
        self._given.append(given if here is None else self._split_of(row[here], path, line))
        self._lines.append(line)
        self._rows.append(row)
        if len(self._first) < FIRST_ROWS:
            self._first.append(row)
        self._characters += sum(map(len, row))
        if len(self._rows) >= self._group_rows or self._characters >= GROUP_CHARACTERS:
            self._flush()

    def with_tags(self, row: tuple[str, ...], cell: str) -> tuple[str, ...]:
        """The row with another cell of tags."""
        assert self._tags is not None
        return (*row[: self._tags], cell, *row[self._tags + 1 :])

    def lacks(self, row: tuple[str, ...], remarks: Remarks, line: int) -> bool:
        """Whether a row is skipped, since a column is empty that must be filled."""
        for name, place in self._filled.items():
            if not row[place].strip():
                remarks.saw(phrase("Row without “{name}” skipped", name=name[:60]), line)
                return True
        return False

    def _key_of(self, row: tuple[str, ...]) -> int:
        """What rows with equal texts have in common; rows without text have nothing."""
        plain = tuple([plain_text(row[place]) for place in self._texts])
        return hash(plain) if any(plain) else len(self)

    def _with_plain_label(
        self, row: tuple[str, ...], remarks: Remarks, line: int
    ) -> tuple[str, ...]:
        """The row with its label in one spelling, without white space around it."""
        place = self._label
        assert place is not None
        label = row[place].strip()
        if label != row[place]:
            remarks.saw(phrase("Label with white space around it, which was removed"), line)
        if label in self._spellings:
            usual = self._spellings[label]
            remarks.saw(
                phrase("Label “{label}” read as “{usual}”", label=label[:60], usual=usual[:60]),
                line,
            )
            label = usual
        return row if label == row[place] else (*row[:place], label, *row[place + 1 :])

    def _note_empty(self, row: tuple[str, ...], remarks: Remarks, line: int) -> None:
        """Keep in mind which columns in use are empty."""
        for name, place in self._used.items():
            if row[place] and not row[place].isspace():
                continue
            self._empty.setdefault(name, []).append(len(self))
            if place == self._text:
                remarks.saw(NO_TEXT, line)
            elif place == self._label:
                remarks.saw(NO_LABEL, line)

    def _split_of(self, cell: str, path: Path, line: int) -> int:
        split = split_named(cell)
        if split is None:
            raise BadFile(
                path,
                phrase("“{cell}” is not a split.", cell=cell[:60]),
                phrase(
                    "The split column must contain train, validation (or dev) or test in every row."
                ),
                line=line,
            )
        return SPLITS.index(split)

    def _says_yes(self, cell: str, name: str, path: Path, line: int) -> bool:
        said = yes_or_no(cell)
        if said is None:
            raise BadFile(
                path,
                phrase(
                    "“{cell}” in the column “{name}” is neither yes nor no.",
                    cell=cell[:60],
                    name=name[:60],
                ),
                phrase("Use 1 or 0, true or false, yes or no."),
                line=line,
            )
        return said

    def _flush(self) -> None:
        if not self._rows:
            return
        cells = [pa.array(column, type=pa.string()) for column in zip(*self._rows, strict=True)]
        lines = pa.array(self._lines, type=pa.int64())
        table = pa.Table.from_arrays([*cells, lines], schema=self._schema)
        self._file.write_table(table, row_group_size=len(table))
        self._rows, self._lines, self._characters = [], [], 0

    def collected(
        self, digests: dict[str, str], notes: list[str], spans: Counter[str]
    ) -> Collected:
        """All that was counted; nothing can be appended any more."""
        self.close()
        numbers = np.array(self._label_numbers, dtype=np.int32)
        counts = np.bincount(numbers, minlength=len(self._numbers))
        return Collected(
            columns=self.columns,
            rows=self._path,
            given=np.array(self._given, dtype=np.int8),
            label_numbers=numbers,
            labels={name: int(count) for name, count in zip(self._numbers, counts, strict=True)},
            flags=dict(self._with_flag),
            spans=dict(spans.most_common(MAX_SPAN_TYPES)),
            sha256=digests,
            notes=notes,
            empty={name: np.array(rows, dtype=np.int32) for name, rows in self._empty.items()},
            first=self._first,
            text_keys=np.array(self._text_keys, dtype=np.int64),
            passages_are_keys=self._is_asked,
        )
