"""Rows on their way into a version of a data set: written in groups, counted, and cleaned."""

from array import array
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.data.columns.label_sets import yes_or_no
from engine.data.columns.names import split_named
from engine.data.columns.plain_texts import plain_all, texts_that_group
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
        self._new: list[int] = []  # splits of the rows at the end that are not counted yet
        self._about: tuple[Path, Remarks, Remarks] | None = None  # whom to tell of these
        self._characters = 0
        self._writer = ThreadPoolExecutor(1, "rows")  # writes a group while the next one is read
        self._writing: Future[None] | None = None
        kinds: list[tuple[str, pa.DataType]] = [(name, pa.string()) for name in columns]
        self._schema = pa.schema([*kinds, ("_line", pa.int64())])
        self._file = pq.ParquetWriter(
            path, self._schema, compression="lz4", use_dictionary=False, write_statistics=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        elif self._file.is_open:  # what went wrong is told; the rest of the rows is not looked at
            self._end()

    def _end(self) -> None:
        self._writer.shutdown(wait=True)
        self._file.close()

    def close(self) -> None:
        """Write what is still in memory; the file is whole then."""
        if self._file.is_open:
            self._flush()
            self._wait()
            self._end()

    def __len__(self) -> int:
        return len(self._given) + len(self._new)

    def begin(self, path: Path, remarks: Remarks, changes: Remarks | None = None) -> None:
        """Say where the next rows come from, and whom to tell of them.

        `changes` is told what was changed in rows; None: `remarks` is.
        """
        self.count()
        self._about = path, remarks, remarks if changes is None else changes

    def append(self, row: tuple[str, ...], line: int, given: int) -> None:
        """Append a row of the split `given`, unless a column says another; it is counted later."""
        self._rows.append(row)
        self._lines.append(line)
        self._new.append(given)
        self._characters += sum(map(len, row))
        if len(self._rows) >= self._group_rows or self._characters >= GROUP_CHARACTERS:
            self._flush()

    def count(self) -> None:
        """Count the rows that were appended, so that all is said of them.

        Raises BadFile, with the line, for a cell that is no split, or neither yes nor no.
        """
        if not self._new:
            return
        assert self._about is not None
        path, remarks, changes = self._about
        begin = len(self._rows) - len(self._new)
        if self._label is not None:
            self._take_labels(begin, changes)
        rows, lines = self._rows[begin:], self._lines[begin:]
        columns = list(zip(*rows, strict=True))
        self._note_empty(columns, lines, remarks)
        for name, place in self._flags.items():
            self._count_flag(name, columns[place], lines, path)
        texts = [columns[place] for place in self._texts]
        self._text_keys.extend(self._keys_of(texts))
        if self._split_column is None:
            self._given.extend(self._new)
        else:
            self._given.extend(self._splits_of(columns[self._split_column], lines, path))
        if len(self._first) < FIRST_ROWS:
            self._first += rows[: FIRST_ROWS - len(self._first)]
        self._new = []

    def with_tags(self, row: tuple[str, ...], cell: str) -> tuple[str, ...]:
        """The row with another cell of tags."""
        assert self._tags is not None
        return (*row[: self._tags], cell, *row[self._tags + 1 :])

    @property
    def skips(self) -> bool:
        """Whether some rows may be skipped."""
        return bool(self._filled)

    def lacks(self, row: tuple[str, ...], remarks: Remarks, line: int) -> bool:
        """Whether a row is skipped, since a column is empty that must be filled."""
        for name, place in self._filled.items():
            if not row[place].strip():
                remarks.saw(phrase("Row without “{name}” skipped", name=name[:60]), line)
                return True
        return False

    def _keys_of(self, texts: list[tuple[str, ...]]) -> list[int]:
        """What rows with equal texts have in common; rows without text have nothing."""
        first = len(self._given)
        plain = [plain_all(column) for column in texts]
        return [
            hash(row) if any(row) else number
            for number, row in enumerate(zip(*plain, strict=True), start=first)
        ]

    def _take_labels(self, begin: int, changes: Remarks) -> None:
        """Number the labels of the rows from `begin` on, and write each in one spelling.

        White space around them goes.
        """
        place, numbers = self._label, self._numbers
        assert place is not None
        labels = [row[place] for row in self._rows[begin:]]
        usual = {label: self._plain_label(label) for label in set(labels)}
        changed = {label for label, plain in usual.items() if plain != label}
        if changed:
            for number, label in enumerate(labels, start=begin):
                if label in changed:
                    row = self._rows[number]
                    self._rows[number] = (*row[:place], usual[label], *row[place + 1 :])
                    self._say_changed(label, self._lines[number], changes)
            labels = [usual[label] for label in labels]
        for label in dict.fromkeys(labels):
            numbers.setdefault(label, len(numbers))
        self._label_numbers.extend([numbers[label] for label in labels])

    def _plain_label(self, label: str) -> str:
        stripped = label.strip()
        return self._spellings.get(stripped, stripped)

    def _say_changed(self, label: str, line: int, changes: Remarks) -> None:
        stripped = label.strip()
        if stripped != label:
            changes.saw(phrase("Label with white space around it, which was removed"), line)
        if stripped in self._spellings:
            usual = self._spellings[stripped]
            what = phrase(
                "Label “{label}” read as “{usual}”", label=stripped[:60], usual=usual[:60]
            )
            changes.saw(what, line)

    def _note_empty(
        self, columns: list[tuple[str, ...]], lines: list[int], remarks: Remarks
    ) -> None:
        """Keep in mind which columns in use are empty."""
        first = len(self._given)
        for name, place in self._used.items():
            cells = columns[place]
            empty = [n for n, cell in enumerate(cells) if not cell or cell.isspace()]
            if not empty:
                continue
            self._empty.setdefault(name, []).extend([first + n for n in empty])
            about = {self._text: NO_TEXT, self._label: NO_LABEL}.get(place)
            if about is not None:
                for n in empty:
                    remarks.saw(about, lines[n])

    def _splits_of(self, cells: tuple[str, ...], lines: list[int], path: Path) -> list[int]:
        splits = {cell: split_named(cell) for cell in set(cells)}
        for cell, line in zip(cells, lines, strict=True) if None in splits.values() else ():
            if splits[cell] is None:
                raise BadFile(
                    path,
                    phrase("“{cell}” is not a split.", cell=cell[:60]),
                    phrase(
                        "The split column must contain train, validation (or dev) or test in "
                        "every row."
                    ),
                    line=line,
                )
        numbers = {cell: SPLITS.index(split) for cell, split in splits.items() if split}
        return [numbers[cell] for cell in cells]

    def _count_flag(self, name: str, cells: tuple[str, ...], lines: list[int], path: Path) -> None:
        """How many rows say yes in a column."""
        counts = Counter(cells)
        for cell, rows in counts.items():
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
                    line=lines[cells.index(cell)],
                )
            self._with_flag[name] += rows if said else 0

    def _flush(self) -> None:
        if not self._rows:
            return
        self.count()
        cells = [pa.array(column, type=pa.string()) for column in zip(*self._rows, strict=True)]
        lines = pa.array(self._lines, type=pa.int64())
        table = pa.Table.from_arrays([*cells, lines], schema=self._schema)
        self._rows, self._lines, self._characters = [], [], 0
        self._wait()
        self._writing = self._writer.submit(
            self._file.write_table, table, row_group_size=len(table)
        )

    def _wait(self) -> None:
        """Let what is being written come to its end; raises what went wrong there."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

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
