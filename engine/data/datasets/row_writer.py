"""Write rows of a version in groups, cleaned and counted.

Works on whole columns; single cells are read only for remarks, and each distinct label once.
"""

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.config.dataset import SPLITS, Cleaning, Mapping, Split
from engine.data.columns.answers import AnswerMismatch, parse_answers
from engine.data.columns.label_sets import parse_yes_no
from engine.data.columns.names import split_from_name
from engine.data.columns.plain_texts import grouping_columns, plain_cells
from engine.data.formats.batches import Batch, blank_rows, string_buffers
from engine.data.formats.rows import Remarks
from engine.errors import BadFile
from engine.phrases import phrase

GROUP_ROWS = 10_000
GROUP_CELLS = 1_000_000
GROUP_BYTES = 32_000_000  # of cells
MAX_SPAN_TYPES = 1_000  # distinct span types; more means that the column has no tags
FREE = -1  # the split is drawn later
FIRST_ROWS = 2_000  # used to recognise columns
NO_TEXT, NO_LABEL, NO_ANSWER = ABOUT_CELLS = (
    phrase("Row without text"),
    phrase("Row without label"),
    phrase("Answer that its passage does not contain"),
)


class Collected(NamedTuple):
    """Result of reading all sources; the rows are in a file."""

    columns: tuple[str, ...]
    rows: Path
    given: NDArray[np.int8]  # [rows], split given by source or column, else FREE
    label_numbers: NDArray[np.int32]  # [rows], an index into `labels`
    labels: dict[str, int]  # rows with each label
    flags: dict[str, int]  # rows with yes in each flag column
    spans: dict[str, int]  # spans of each type
    sha256: dict[str, str]  # by source path
    notes: list[str]
    empty: dict[str, NDArray[np.int32]]  # by mapped column, the rows in which it is empty
    missing_answers: NDArray[np.int32]  # rows whose passage does not contain the answer
    first: list[tuple[str, ...]]  # the first `FIRST_ROWS` rows
    text_keys: NDArray[np.int64]  # [rows], equal for equal texts: of the passage, or of all
    passages_are_keys: bool  # rows are questions and `text_keys` are of passages


class _Cells(NamedTuple):
    """A dictionary-encoded column."""

    names: list[str]  # by first appearance
    numbers: NDArray[np.int32]  # [rows], index into `names`

    @classmethod
    def of(cls, column: "pa.Array[Any]") -> Self:
        encoded: Any = column.dictionary_encode()
        return cls(encoded.dictionary.to_pylist(), encoded.indices.to_numpy())

    def first(self) -> NDArray[np.int64]:
        """First row of each cell, int64 [names]."""
        return np.unique(self.numbers, return_index=True)[1]

    def counts(self) -> NDArray[np.int64]:
        """Rows of each cell, int64 [names]."""
        return np.bincount(self.numbers, minlength=len(self.names))


class RowWriter:
    """Writes rows in groups and keeps the label and the split of each."""

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
        self._empty: dict[str, list[NDArray[np.int32]]] = {}
        self._first: list[tuple[str, ...]] = []
        self._text = columns.index(mapping.text)
        self._label = None if mapping.label is None else columns.index(mapping.label)
        self._flags = {name: columns.index(name) for name in mapping.flags}
        self._with_flag = Counter[str](dict.fromkeys(mapping.flags, 0))
        self._split_column = None if split.column is None else columns.index(split.column)
        self._group_rows = max(1, min(GROUP_ROWS, GROUP_CELLS // len(columns)))
        self._asked: tuple[int, int] | None = None  # columns of passages and answers
        if mapping.pair is not None and mapping.answers is not None:
            self._asked = columns.index(mapping.pair), columns.index(mapping.answers)
        self._missing_answers: list[int] = []
        self._texts = [columns.index(name) for name in grouping_columns(mapping)]
        self._text_keys: list[NDArray[np.int64]] = []
        self._given: list[NDArray[np.int8]] = []
        self._label_numbers: list[NDArray[np.int32]] = []
        self._numbers: dict[str, int] = {}  # index of each label
        self._counted: list[Batch] = []  # counted rows of the current group
        # after these, not counted yet, with their splits
        self._new: list[tuple[Batch, NDArray[np.int8]]] = []
        self._rows = self._bytes = 0  # of both
        self._before = 0  # rows that were counted
        # path, remarks and changes of new rows
        self._about: tuple[Path, Remarks, Remarks] | None = None
        self._writer = ThreadPoolExecutor(1, "rows")  # writes a group while the next one is read
        self._writing: Future[None] | None = None
        kinds: list[tuple[str, pa.DataType]] = [(name, pa.string()) for name in columns]
        self._schema = pa.schema([*kinds, ("_line", pa.int64())])
        self._file = pq.ParquetWriter(
            path, self._schema, compression="none", use_dictionary=False, write_statistics=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        elif self._file.is_open:  # the error is raised; the remaining rows are discarded
            self._writer.shutdown(wait=True)
            self._file.close()

    def close(self) -> None:
        """Write all buffered rows and close the file."""
        if self._file.is_open:
            self._flush()
            self._wait()
            self._writer.shutdown(wait=True)
            self._file.close()

    def __len__(self) -> int:
        return self._before + sum(len(batch) for batch, _ in self._new)

    def begin(self, path: Path, remarks: Remarks, changes: Remarks | None = None) -> None:
        """Set the source of the next rows and their remarks; `changes` are remarked separately if
        given."""
        self.count()
        self._about = path, remarks, remarks if changes is None else changes

    def append(self, batch: Batch, given: int | NDArray[np.int8]) -> None:
        """Append rows of one split, or with a split for each, int8 [rows]; a split column overrides
        it."""
        splits = np.full(len(batch), given, np.int8) if isinstance(given, int) else given
        first = 0
        while first < len(batch):
            rest = batch.slice(first, min(self._group_rows - self._rows, len(batch) - first))
            ends = _ends(rest) + self._bytes
            rows = min(len(rest), int(np.searchsorted(ends, GROUP_BYTES)) + 1)
            self._new.append((rest.slice(0, rows), splits[first : first + rows]))
            self._rows, self._bytes = self._rows + rows, int(ends[rows - 1])
            first += rows
            if self._rows >= self._group_rows or self._bytes >= GROUP_BYTES:
                self._flush()

    def count(self) -> None:
        """Count the appended rows.

        Raises BadFile, with the line, for a cell that is not a split, or neither yes nor no.
        """
        if not self._new:
            return
        assert self._about is not None
        path, remarks, changes = self._about
        batch = _joined([batch for batch, _ in self._new])
        if self._label is not None:
            batch.cells[self._label] = self._take_labels(batch, changes)
        self._note_empty(batch, remarks)
        self._note_missing_answers(batch, remarks)
        for name, index in self._flags.items():
            self._count_flag(name, batch.cells[index], batch.lines, path)
        self._text_keys.append(self._hash_texts([batch.cells[index] for index in self._texts]))
        if self._split_column is None:
            self._given += [splits for _, splits in self._new]
        else:
            column = batch.cells[self._split_column]
            self._given.append(self._parse_splits(column, batch.lines, path))
        if len(self._first) < FIRST_ROWS:
            head = batch.slice(0, FIRST_ROWS - len(self._first))
            self._first += [cells for _, cells in head.rows()]
        self._counted.append(batch)
        self._before += len(batch)
        self._new = []

    def filled(self, batch: Batch, remarks: Remarks) -> NDArray[np.bool_] | None:
        """Rows in which all required columns are filled, bool [rows]; None for all rows."""
        kept = np.ones(len(batch), dtype=bool)
        for name, index in self._filled.items():
            empty = blank_rows(batch.cells[index])
            empty = empty[kept[empty]]
            if len(empty):
                remark = phrase("Row without “{name}” skipped", name=name[:60])
                remarks.saw(remark, int(batch.lines[empty[0]]), len(empty))
                kept[empty] = False
        return None if kept.all() else kept

    def _hash_texts(self, texts: "list[pa.Array[Any]]") -> NDArray[np.int64]:
        """Hash of the texts of each row; unique for rows without text."""
        plain = [plain_cells(column) for column in texts]
        rows = plain[0] if len(plain) == 1 else zip(*plain, strict=True)
        keys = np.fromiter(map(hash, rows), np.int64, len(plain[0]))
        for number, row in enumerate(zip(*plain, strict=True)) if "" in plain[0] else ():
            if not any(row):
                keys[number] = self._before + number
        return keys

    def _take_labels(self, batch: Batch, changes: Remarks) -> "pa.Array[Any]":
        """Encode the labels of the rows, and return their column with unified spellings."""
        assert self._label is not None
        column = batch.cells[self._label]
        cells, numbers = _Cells.of(column), self._numbers
        stripped = [label.strip() for label in cells.names]
        plain = [self._spellings.get(label, label) for label in stripped]
        known = [numbers.setdefault(label, len(numbers)) for label in plain]
        self._label_numbers.append(np.array(known, dtype=np.int32)[cells.numbers])
        if plain == cells.names:
            return column
        first, counts = cells.first(), cells.counts()
        for number, label in enumerate(stripped):
            line, times = int(batch.lines[first[number]]), int(counts[number])
            if label != cells.names[number]:
                remark = phrase("Label with white space around it, which was removed")
                changes.saw(remark, line, times)
            if label != plain[number]:
                remark = phrase(
                    "Label “{label}” read as “{usual}”", label=label[:60], usual=plain[number][:60]
                )
                changes.saw(remark, line, times)
        return pa.array(plain, type=pa.string()).take(cells.numbers)

    def _note_empty(self, batch: Batch, remarks: Remarks) -> None:
        for name, index in self._used.items():
            empty = blank_rows(batch.cells[index])
            if not len(empty):
                continue
            self._empty.setdefault(name, []).append((self._before + empty).astype(np.int32))
            about = {self._text: NO_TEXT, self._label: NO_LABEL}.get(index)
            if about is not None:
                remarks.saw(about, int(batch.lines[empty[0]]), len(empty))

    def _note_missing_answers(self, batch: Batch, remarks: Remarks) -> None:
        if self._asked is None:
            return
        passages, answers = (batch.cells[index].to_pylist() for index in self._asked)
        for row, (passage, cell) in enumerate(zip(passages, answers, strict=True)):
            try:
                parse_answers(cell or "", passage or "")
            except AnswerMismatch:
                self._missing_answers.append(self._before + row)
                remarks.saw(NO_ANSWER, int(batch.lines[row]))

    def _parse_splits(
        self, column: "pa.Array[Any]", lines: NDArray[np.int64], path: Path
    ) -> NDArray[np.int8]:
        cells = _Cells.of(column)
        splits = [split_from_name(cell) for cell in cells.names]
        if None in splits:
            wrong = splits.index(None)
            raise BadFile(
                path,
                phrase("“{cell}” is not a split.", cell=cells.names[wrong][:60]),
                phrase(
                    "The split column must contain train, validation (or dev) or test in every row."
                ),
                line=int(lines[cells.first()[wrong]]),
            )
        known = np.array([SPLITS.index(split) for split in splits if split], dtype=np.int8)
        return known[cells.numbers]

    def _count_flag(
        self, name: str, column: "pa.Array[Any]", lines: NDArray[np.int64], path: Path
    ) -> None:
        cells = _Cells.of(column)
        for number, (cell, rows) in enumerate(zip(cells.names, cells.counts(), strict=True)):
            flag = parse_yes_no(cell)
            if flag is None:
                raise BadFile(
                    path,
                    phrase(
                        "“{cell}” in the column “{name}” is neither yes nor no.",
                        cell=cell[:60],
                        name=name[:60],
                    ),
                    phrase("Use 1 or 0, true or false, yes or no."),
                    line=int(lines[cells.first()[number]]),
                )
            self._with_flag[name] += int(rows) if flag else 0

    def _flush(self) -> None:
        if not self._rows:
            return
        self.count()
        batch = _joined(self._counted)
        lines = pa.array(batch.lines, type=pa.int64())
        table = pa.Table.from_arrays([*batch.cells, lines], schema=self._schema)
        self._counted, self._rows, self._bytes = [], 0, 0
        self._wait()
        self._writing = self._writer.submit(
            self._file.write_table, table, row_group_size=len(table)
        )

    def _wait(self) -> None:
        """Wait for the group that is being written; raises its error."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def collected(
        self, digests: dict[str, str], notes: list[str], spans: Counter[str]
    ) -> Collected:
        """Close the file and return all counts."""
        self.close()
        numbers = _all(self._label_numbers, np.int32)
        counts = np.bincount(numbers, minlength=len(self._numbers))
        return Collected(
            columns=self.columns,
            rows=self._path,
            given=_all(self._given, np.int8),
            label_numbers=numbers,
            labels={name: int(count) for name, count in zip(self._numbers, counts, strict=True)},
            flags=dict(self._with_flag),
            spans=dict(spans.most_common(MAX_SPAN_TYPES)),
            sha256=digests,
            notes=notes,
            empty={name: np.concatenate(rows) for name, rows in self._empty.items()},
            missing_answers=np.array(self._missing_answers, dtype=np.int32),
            first=self._first,
            text_keys=_all(self._text_keys, np.int64),
            passages_are_keys=self._asked is not None,
        )


def _all(parts: list[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def _ends(batch: Batch) -> NDArray[np.int64]:
    """Cumulative size of the rows in bytes, int64 [rows]."""
    ends = np.zeros(len(batch), dtype=np.int64)
    for column in batch.cells:
        offsets, _ = string_buffers(column)
        ends += offsets[1:] - offsets[0]
    return ends


def _joined(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return Batch(batches[0].lines, list(batches[0].cells))
    lines = np.concatenate([batch.lines for batch in batches])
    columns = zip(*[batch.cells for batch in batches], strict=True)
    return Batch(lines, [pa.concat_arrays(list(column)) for column in columns])
