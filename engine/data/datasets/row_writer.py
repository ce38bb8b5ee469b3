"""Write rows of a version in groups, cleaned and counted.

Works on whole columns; single cells are read only for remarks, and each distinct label once.
"""

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.config.dataset import SPLITS, Cleaning, Mapping, Split
from engine.data.columns.answers import AnswerMismatch, parse_answers
from engine.data.columns.choices import split_choices
from engine.data.columns.label_sets import allows_blanks, parse_flag
from engine.data.columns.names import split_from_name
from engine.data.columns.plain_texts import grouping_columns, plain_cells
from engine.data.columns.text_spans import SpanCounts
from engine.data.columns.words import LIST_STARTS, join_list
from engine.data.formats.batches import Batch, blank_rows, string_buffers
from engine.data.formats.rows import Remarks
from engine.errors import BadFile
from engine.phrases import phrase

GROUP_ROWS = 10_000
GROUP_CELLS = 1_000_000
GROUP_BYTES = 32_000_000
MAX_SPAN_TYPES = 1_000  # distinct span types; more means that the column has no tags
UNKNOWN_FLAG = "-1"
UNASSIGNED = -1  # the split is drawn later
FIRST_ROWS = 2_000  # used to recognise columns
NO_TEXT, NO_ANSWER = CELL_NOTES = (
    phrase("Row without text"),
    phrase("Answer that its passage does not contain"),
)


class SourceRows(NamedTuple):
    """Rows of all sources, stored in a file, with their counts."""

    columns: tuple[str, ...]
    rows: Path
    splits: NDArray[np.int8]  # [rows], split by source or column, else UNASSIGNED
    split_cells: tuple[list[str], NDArray[np.int32]]  # times or groups, and [rows], their indices
    label_indices: NDArray[np.int32]  # [rows], an index into `labels`
    labels: dict[str, int]  # rows with each label
    flags: dict[str, int]  # rows with yes in each flag column
    spans: dict[str, int]  # spans of each type
    overlaps: int | None  # spans that overlap a longer one; None without spans of characters
    sha256: dict[str, str]  # by source path
    notes: list[str]
    empty: dict[str, NDArray[np.int32]]  # by mapped column, the rows in which it is empty
    unlabelled: NDArray[np.int32]  # rows without a label
    missing_answers: NDArray[np.int32]  # rows whose passage does not contain the answer
    uneven_choices: int  # rows with another number of choices than the first row
    first_rows: list[tuple[str, ...]]  # at most `FIRST_ROWS`
    text_keys: NDArray[np.int64]  # [rows], equal for rows with equal passages, or else texts
    passages_are_keys: bool  # rows are questions and `text_keys` are of passages


class _Cells(NamedTuple):
    """A dictionary-encoded column."""

    names: list[str]  # by first appearance
    indices: NDArray[np.int32]  # [rows], index into `names`

    @classmethod
    def encode(cls, column: "pa.Array[Any]") -> Self:
        encoded: Any = column.dictionary_encode()
        return cls(encoded.dictionary.to_pylist(), encoded.indices.to_numpy())

    def first_rows(self) -> NDArray[np.int64]:
        """First row of each cell, int64 [names]."""
        return np.unique(self.indices, return_index=True)[1]

    def counts(self) -> NDArray[np.int64]:
        """Rows of each cell, int64 [names]."""
        return np.bincount(self.indices, minlength=len(self.names))


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
        self._mapped = {name: columns.index(name) for name in mapping.columns}
        self._required = {name: columns.index(name) for name in cleaning.skip_empty}
        self._no_label = cleaning.no_label
        self._spellings = dict.fromkeys(self._no_label, "") | cleaning.spellings
        self._empty: dict[str, list[NDArray[np.int32]]] = {}
        self._first_rows: list[tuple[str, ...]] = []
        self._text = columns.index(mapping.text)
        self._label = None if mapping.label is None else columns.index(mapping.label)
        self._label_columns = mapping.label_columns
        self._flags = {name: columns.index(name) for name in mapping.flags}
        self._flag_counts = Counter[str](dict.fromkeys(mapping.flags, 0))
        self._flag_cells = {name: set[str]() for name in mapping.flags}
        self._blank_flags: dict[str, dict[int, int]] = {}  # by column, empty cells: row, line
        self._paths: list[tuple[int, Path]] = []  # first row of each source
        self._split_by = split.by
        self._split_column = None if split.column is None else columns.index(split.column)
        self._split_ids: dict[str, int] = {}  # index of each time or group
        self._split_indices: list[NDArray[np.int32]] = []
        self._group_rows = max(1, min(GROUP_ROWS, GROUP_CELLS // len(columns)))
        self._answer_columns: tuple[int, int] | None = None  # columns of passages and answers
        if mapping.pair is not None and mapping.answers is not None:
            self._answer_columns = columns.index(mapping.pair), columns.index(mapping.answers)
        self._missing_answers: list[int] = []
        self._choice_list = columns.index(mapping.endings[0]) if len(mapping.endings) == 1 else None
        self._choices: int | None = None  # number in the first row
        self._uneven_choices = 0
        names = filter(None, (mapping.text, mapping.pair, mapping.negative))
        self._joined = {} if mapping.tags else {name: columns.index(name) for name in names}
        is_joined = mapping.pair is not None and {*mapping.texts} <= {*mapping.templates}
        self._second = columns.index(mapping.texts[1]) if is_joined else None
        self._texts = [columns.index(name) for name in grouping_columns(mapping)]
        self._text_keys: list[NDArray[np.int64]] = []
        self._splits: list[NDArray[np.int8]] = []
        self._label_indices: list[NDArray[np.int32]] = []
        self._label_ids: dict[str, int] = {}  # index of each label
        self._counted: list[Batch] = []  # counted rows of the current group
        # the rows after these, not counted yet, with their splits
        self._new: list[tuple[Batch, NDArray[np.int8]]] = []
        self._rows = self._bytes = 0  # of `_counted` and `_new`
        self._counted_rows = 0
        # path, remarks and changes of new rows
        self._source: tuple[Path, Remarks, Remarks] | None = None
        self._writer = ThreadPoolExecutor(1, "rows")  # writes a group while the next one is read
        self._writing: Future[None] | None = None
        fields: list[tuple[str, pa.DataType]] = [(name, pa.string()) for name in columns]
        self._schema = pa.schema([*fields, ("_line", pa.int64())])
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
            try:
                self._flush()
                self._wait()
            finally:
                self._writer.shutdown(wait=True)
                self._file.close()

    def __len__(self) -> int:
        return self._counted_rows + sum(len(batch) for batch, _ in self._new)

    def begin(self, path: Path, remarks: Remarks, changes: Remarks | None = None) -> None:
        """Set the source and remarks of the next rows; `changes` counts changed cells, if given."""
        self.count()
        self._paths.append((len(self), path))
        self._source = path, remarks, remarks if changes is None else changes

    def append(self, batch: Batch, splits: int | NDArray[np.int8]) -> None:
        """Append rows with one split or int8 [rows]; a split column overrides it."""
        splits = np.full(len(batch), splits, np.int8) if isinstance(splits, int) else splits
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
        assert self._source is not None
        path, remarks, changes = self._source
        batch = _concatenate([batch for batch, _ in self._new])
        if self._label is not None:
            batch.cells[self._label] = self._take_labels(batch, changes)
        for name, index in self._joined.items():
            batch.cells[index] = _join_lists(name, batch.cells[index], batch.lines, changes)
        self._note_empty(batch, remarks)
        self._note_missing_answers(batch, remarks)
        if self._choice_list is not None:
            cells = batch.cells[self._choice_list].to_pylist()
            counts = [len(split_choices(cell or "") or ()) for cell in cells]
            self._choices = counts[0] if self._choices is None else self._choices
            self._uneven_choices += len(counts) - counts.count(self._choices)
        for name, index in self._flags.items():
            batch.cells[index] = _blank_unknown(batch.cells[index], batch.lines, remarks)
            self._count_flag(name, batch.cells[index], batch.lines, path)
        self._text_keys.append(self._hash_texts([batch.cells[index] for index in self._texts]))
        column = None if self._split_column is None else batch.cells[self._split_column]
        if column is not None and self._split_by == "name":
            self._splits.append(self._parse_splits(column, batch.lines, path))
        else:
            self._splits += [splits for _, splits in self._new]
        if column is not None and self._split_by != "name":
            encoded, ids = _Cells.encode(column), self._split_ids
            indices = [ids.setdefault(cell.strip(), len(ids)) for cell in encoded.names]
            self._split_indices.append(np.array(indices, dtype=np.int32)[encoded.indices])
        if len(self._first_rows) < FIRST_ROWS:
            head = batch.slice(0, FIRST_ROWS - len(self._first_rows))
            self._first_rows += [cells for _, cells in head.rows()]
        self._counted.append(batch)
        self._counted_rows += len(batch)
        self._new = []

    def filled_rows(self, batch: Batch, remarks: Remarks) -> NDArray[np.bool_] | None:
        """Rows in which all required columns are filled, bool [rows]; None for all rows."""
        mask = np.ones(len(batch), dtype=bool)
        for name, index in self._required.items():
            cells: Any = batch.cells[index]
            none: tuple[str, ...] = (UNKNOWN_FLAG,) if name in self._flags else ()
            none = self._no_label if index == self._label else none
            if none:
                cells = pc.if_else(pc.is_in(cells, value_set=pa.array(none)), "", cells)
            empty = self._blank(batch, index, cells)
            empty = empty[mask[empty]]
            if len(empty):
                remark = phrase("Row without “{name}” skipped", name=name[:60])
                remarks.count(remark, int(batch.lines[empty[0]]), len(empty))
                mask[empty] = False
        return None if mask.all() else mask

    def _blank(self, batch: Batch, index: int, cells: Any = None) -> NDArray[np.int64]:
        """Rows in which a column is empty; of two joined texts, both."""
        if self._second is None or index not in (self._text, self._second):
            return blank_rows(batch.cells[index] if cells is None else cells)
        rows: NDArray[np.int64] = np.intersect1d(
            blank_rows(batch.cells[self._text]), blank_rows(batch.cells[self._second])
        )
        return rows

    def _hash_texts(self, texts: "list[pa.Array[Any]]") -> NDArray[np.int64]:
        """Hash of the texts of each row; unique for rows without text."""
        plain = [plain_cells(column) for column in texts]
        rows = plain[0] if len(plain) == 1 else zip(*plain, strict=True)
        keys = np.fromiter(map(hash, rows), np.int64, len(plain[0]))
        for index, row in enumerate(zip(*plain, strict=True)) if "" in plain[0] else ():
            if not any(row):
                keys[index] = self._counted_rows + index
        return keys

    def _take_labels(self, batch: Batch, changes: Remarks) -> "pa.Array[Any]":
        """Encode the labels of the rows, and return their column with unified spellings."""
        assert self._label is not None
        column = batch.cells[self._label]
        cells, indices = _Cells.encode(column), self._label_ids
        stripped = [label.strip() for label in cells.names]
        plain = [self._spellings.get(label, label) for label in stripped]
        ids = [indices.setdefault(label, len(indices)) for label in plain]
        self._label_indices.append(np.array(ids, dtype=np.int32)[cells.indices])
        if plain == cells.names:
            return column
        first, counts = cells.first_rows(), cells.counts()
        for index, label in enumerate(stripped):
            line, count = int(batch.lines[first[index]]), int(counts[index])
            if label != cells.names[index]:
                remark = phrase("Label with white space around it, which was removed")
                changes.count(remark, line, count)
            if label and not plain[index]:
                changes.count(phrase("“{label}” read as no label", label=label[:60]), line, count)
            elif label != plain[index]:
                remark = phrase(
                    "Label “{label}” read as “{usual}”", label=label[:60], usual=plain[index][:60]
                )
                changes.count(remark, line, count)
        return pa.array(plain, type=pa.string()).take(cells.indices)

    def _note_empty(self, batch: Batch, remarks: Remarks) -> None:
        for name, index in self._mapped.items():
            if name in self._flags:  # see `_count_flag`
                continue
            empty = self._blank(batch, index)
            if not len(empty) or index == self._second:
                continue
            self._empty.setdefault(name, []).append((self._counted_rows + empty).astype(np.int32))
            if index == self._text:
                remarks.count(NO_TEXT, int(batch.lines[empty[0]]), len(empty))

    def _note_missing_answers(self, batch: Batch, remarks: Remarks) -> None:
        if self._answer_columns is None:
            return
        passages, answers = (batch.cells[index].to_pylist() for index in self._answer_columns)
        for row, (passage, cell) in enumerate(zip(passages, answers, strict=True)):
            try:
                parse_answers(cell or "", passage or "")
            except AnswerMismatch:
                self._missing_answers.append(self._counted_rows + row)
                remarks.count(NO_ANSWER, int(batch.lines[row]))

    def _parse_splits(
        self, column: "pa.Array[Any]", lines: NDArray[np.int64], path: Path
    ) -> NDArray[np.int8]:
        cells = _Cells.encode(column)
        splits = [split_from_name(cell) for cell in cells.names]
        if None in splits:
            invalid = splits.index(None)
            raise BadFile(
                path,
                phrase("“{cell}” is not a split.", cell=cells.names[invalid][:60]),
                phrase(
                    "The split column must contain train, validation (or dev) or test in every "
                    "row, unless it has a time or a group."
                ),
                line=int(lines[cells.first_rows()[invalid]]),
            )
        codes = np.array([SPLITS.index(split) for split in splits if split], dtype=np.int8)
        return codes[cells.indices]

    def _count_flag(
        self, name: str, column: "pa.Array[Any]", lines: NDArray[np.int64], path: Path
    ) -> None:
        cells = _Cells.encode(column)
        for index, (cell, rows) in enumerate(zip(cells.names, cells.counts(), strict=True)):
            self._flag_cells[name].add(cell)
            flag = parse_flag(cell, name)
            if flag is None and cell.strip():
                raise _flag_error(path, name, cell, int(lines[cells.first_rows()[index]]))
            if flag is None:
                blank = np.flatnonzero(cells.indices == index)
                new = zip((self._counted_rows + blank).tolist(), lines[blank].tolist(), strict=True)
                self._blank_flags.setdefault(name, {}).update(new)
            self._flag_counts[name] += int(rows) if flag else 0

    def _flush(self) -> None:
        if not self._rows:
            return
        self.count()
        batch = _concatenate(self._counted)
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

    def _unlabelled_rows(self) -> NDArray[np.int32]:
        """Rows without a label: its cell is empty, or those of all yes/no columns without marks."""
        if not self._flags:
            column = next(iter(self._label_columns), "")
            return _concatenate_arrays(self._empty.get(column, []), np.int32)
        plain = [name for name in self._flags if not allows_blanks(self._flag_cells[name], name)]
        blank = [self._blank_flags.get(name, {}) for name in plain]
        rows = set(blank[0]).intersection(*blank[1:]) if blank else set()
        for name, cells in zip(plain, blank, strict=True):
            partial = min(cells.keys() - rows, default=None)
            if partial is not None:
                path = next(path for first, path in reversed(self._paths) if first <= partial)
                raise _flag_error(path, name, "", cells[partial])
        return np.array(sorted(rows), dtype=np.int32)

    def finish(self, digests: dict[str, str], notes: list[str], spans: SpanCounts) -> SourceRows:
        """Close the file and return the collected rows.

        Raises BadFile for an empty cell in a yes/no column without marks, unless all are empty.
        """
        unlabelled = self._unlabelled_rows()
        self.close()
        indices = _concatenate_arrays(self._label_indices, np.int32)
        counts = np.bincount(indices, minlength=len(self._label_ids))
        return SourceRows(
            columns=self.columns,
            rows=self._path,
            splits=_concatenate_arrays(self._splits, np.int8),
            split_cells=(list(self._split_ids), _concatenate_arrays(self._split_indices, np.int32)),
            label_indices=indices,
            labels={name: int(count) for name, count in zip(self._label_ids, counts, strict=True)},
            flags=dict(self._flag_counts),
            spans=dict(spans.types.most_common(MAX_SPAN_TYPES)),
            overlaps=spans.overlaps,
            sha256=digests,
            notes=notes,
            empty={name: np.concatenate(rows) for name, rows in self._empty.items()},
            unlabelled=unlabelled,
            missing_answers=np.array(self._missing_answers, dtype=np.int32),
            uneven_choices=self._uneven_choices,
            first_rows=self._first_rows,
            text_keys=_concatenate_arrays(self._text_keys, np.int64),
            passages_are_keys=self._answer_columns is not None,
        )


def _join_lists(
    name: str, cells: "pa.Array[Any]", lines: NDArray[np.int64], changes: Remarks
) -> "pa.Array[Any]":
    """Cells of a text column, with lists of words as natural texts."""
    starts: list[Any] = [pc.starts_with(cells, start) for start in LIST_STARTS]
    is_list: Any = pc.or_(*starts)
    if not pc.any(is_list).as_py():
        return cells
    given = [cell or "" for cell in cells.to_pylist()]
    joined = [*map(join_list, given)]
    rows = [n for n, (old, new) in enumerate(zip(given, joined, strict=True)) if old != new]
    if rows:
        remark = phrase("List of words in “{name}” joined by spaces", name=name[:60])
        changes.count(remark, int(lines[rows[0]]), len(rows))
    return pa.array(joined, type=pa.string())


def _blank_unknown(
    cells: "pa.Array[Any]", lines: NDArray[np.int64], remarks: Remarks
) -> "pa.Array[Any]":
    """Yes/no cells with -1, which many data sets write for “not labelled”, as empty ones."""
    unknown: Any = pc.equal(cells, pa.scalar(UNKNOWN_FLAG))
    rows = np.flatnonzero(unknown.to_numpy(zero_copy_only=False))
    if not len(rows):
        return cells
    remark = phrase("“{flag}” in a yes/no column read as no label", flag=UNKNOWN_FLAG)
    remarks.count(remark, int(lines[rows[0]]), len(rows))
    blank: pa.Array[Any] = pc.if_else(unknown, pa.scalar(""), cells)
    return blank


def _flag_error(path: Path, name: str, cell: str, line: int) -> BadFile:
    problem = phrase(
        "“{cell}” in the column “{name}” is neither yes nor no.", cell=cell[:60], name=name[:60]
    )
    return BadFile(path, problem, phrase("Use 1 or 0, true or false, yes or no."), line=line)


def _concatenate_arrays(parts: list[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def _ends(batch: Batch) -> NDArray[np.int64]:
    """Cumulative size of the rows in bytes, int64 [rows]."""
    ends = np.zeros(len(batch), dtype=np.int64)
    for column in batch.cells:
        offsets, _ = string_buffers(column)
        ends += offsets[1:] - offsets[0]
    return ends


def _concatenate(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return Batch(batches[0].lines, list(batches[0].cells))
    lines = np.concatenate([batch.lines for batch in batches])
    columns = zip(*[batch.cells for batch in batches], strict=True)
    return Batch(lines, [pa.concat_arrays(list(column)) for column in columns])
