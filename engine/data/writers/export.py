"""Rows of a data set to export: which, with their edits, in which columns."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.config.dataset import SPLITS, DatasetSpec, Source, SplitName
from engine.data.columns.label_sets import count_label_sets, parse_label_sets
from engine.data.columns.text_spans import read_spans
from engine.data.columns.words import split_words
from engine.data.datasets.coding import Coding, RowCoding, read_coding
from engine.data.datasets.editing import NOT_EDITED, RowEdit
from engine.data.datasets.store import Dataset
from engine.errors import MissingColumn, StudioError
from engine.files.table_files import BATCH_ROWS
from engine.progress import Cancelled, ProgressCallback, no_progress

ROW, LINE, SPLIT = "\0row", "\0line", "\0split"  # keys that no column of a source has
LEADS = {"row": ROW, "line": LINE, "split": SPLIT}
"""Columns before those of the source: index in the version, from 0; line in its file; split."""
CODING = {name: f"\0{name}" for name in RowCoding.model_fields}
"""Columns after those of the source, if rows were coded."""
SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("label", pa.string())])
INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
Record = dict[str, Any]
Columns = Mapping[str, str]
"""Keys of records by the name of their column."""


def all_columns(dataset: Dataset, coding: Coding, edits: Mapping[int, RowEdit]) -> dict[str, str]:
    """All columns that can be exported, those of the source under their own names."""
    source = dataset.spec.columns
    is_coded = bool(coding) or any(edit.coding for edit in edits.values())
    columns = _unlike(LEADS, source) | dict(zip(source, source, strict=True))
    return columns | (_unlike(CODING, source) if is_coded else {})


def _unlike(columns: Columns, source: Sequence[str]) -> dict[str, str]:
    return {f"stored_{name}" if name in source else name: key for name, key in columns.items()}


@dataclass(frozen=True)
class Export:
    """Rows of a data set, and the columns to write.

    `progress` is called with rows; reading raises Cancelled soon after `cancelled()` is true.
    """

    dataset: Dataset
    rows: NDArray[np.int64]  # indices in the version, in the order of writing
    columns: Columns
    edits: Mapping[int, RowEdit] = field(default_factory=dict)
    coding: Coding = field(default_factory=dict)
    progress: ProgressCallback = no_progress
    cancelled: Callable[[], bool] = lambda: False

    @classmethod
    def choose(
        cls,
        dataset: Dataset,
        rows: Source | Sequence[int] = "all",
        columns: Sequence[str] | None = None,
        edits: Mapping[int, RowEdit] | None = None,
    ) -> Self:
        """The rows without those that an edit deletes, in all columns or those given.

        Raises:
            MissingColumn: if there is no such column.
            StudioError: if no row is left.
        """
        edits, coding = edits or {}, read_coding(dataset.folder)
        known = all_columns(dataset, coding, edits)
        for name in columns or ():
            if name not in known:
                raise MissingColumn(name, list(known))
        indices = dataset.select(rows)
        deleted = [row for row, edit in edits.items() if edit.deleted]
        indices = indices[~np.isin(indices, deleted)]
        if not len(indices):
            raise StudioError("There are no rows to export.", "Choose other rows.")
        chosen = {name: known[name] for name in known if columns is None or name in columns}
        return cls(dataset, indices, chosen, edits, coding)

    def with_progress(self, progress: ProgressCallback) -> Self:
        return replace(self, progress=progress)

    def without_split(self) -> Self:
        """The same rows without the column of the split, for files that are named after it."""
        columns = {name: key for name, key in self.columns.items() if key != SPLIT}
        return replace(self, columns=columns)

    @property
    def spec(self) -> DatasetSpec:
        return self.dataset.spec

    def split_of(self, row: int) -> SplitName:
        edited = self.edits.get(row, NOT_EDITED).split
        return edited or SPLITS[self.dataset.splits[row]]

    @cached_property
    def splits(self) -> dict[SplitName, "Export"]:
        """The rows of each split that has some."""
        names = np.array([self.split_of(row) for row in self.rows.tolist()])
        parts = {split: replace(self, rows=self.rows[names == split]) for split in SPLITS}
        return {split: part for split, part in parts.items() if len(part.rows)}

    def records(self) -> Iterator[Record]:
        """All columns of the source of each row with its edits, those before and after them."""
        mapping = self.spec.mapping
        coded = next(iter(mapping.label_columns), mapping.text)
        for first in range(0, len(self.rows), BATCH_ROWS):
            if self.cancelled():
                raise Cancelled
            rows = self.rows[first : first + BATCH_ROWS]
            for row, record in zip(rows.tolist(), self.dataset.take(rows), strict=True):
                cells = {name: record[name] or "" for name in self.spec.columns}
                edit = self.edits.get(row, NOT_EDITED)
                leads = {ROW: row, LINE: record["_line"], SPLIT: self.split_of(row)}
                facts = edit.coding.get(coded) or self.coding.get(row, {}).get(coded)
                known = {} if facts is None else facts.model_dump(mode="json")
                coding = {key: _text(known.get(name)) for name, key in CODING.items()}
                yield leads | cells | edit.cells | coding
            self.progress(min(first + BATCH_ROWS, len(self.rows)), len(self.rows))

    def is_labelled(self, row: int) -> bool:
        """True if a row has a label, edits included; an empty set is one if it needs no code."""
        columns, edited = self.spec.mapping.label_columns, self.edits.get(row, NOT_EDITED).cells
        cells = [edited[name] for name in columns if name in edited]
        if any(cells) or (self.label_sets is not None and not self.spec.sets_are_coded):
            return True
        return len(cells) < len(columns) and row not in self._unlabelled

    @cached_property
    def _unlabelled(self) -> frozenset[int]:
        return frozenset(self.dataset.unlabelled().tolist())

    @cached_property
    def label_cells(self) -> tuple[str, ...]:
        """The distinct filled cells of the label column."""
        label = self.spec.mapping.label
        if label is None:
            return ()
        stored = self.dataset.column(label).unique().to_pylist()
        edited = (edit.cells[label] for edit in self.edits.values() if label in edit.cells)
        return tuple(sorted({cell.strip() for cell in (*stored, *edited) if cell} - {""}))

    @cached_property
    def label_sets(self) -> dict[str, tuple[str, ...]] | None:
        """The labels in each cell of the label column; None if cells hold one label."""
        cells = self.label_cells
        if count_label_sets(dict.fromkeys(cells, 1)) is None:
            return None
        return dict(zip(cells, parse_label_sets(cells), strict=True))

    # ── tables ───────────────────────────────────────────────────────────────────────────────

    def table(self, nested: bool = False) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """Schema and rows of the columns, a batch at a time.

        Cells are texts. If they are `nested`, an empty one is null, words, tags, spans and sets of
        labels are lists, and labels that are all spelled as numbers are numbers.
        """
        keys = self.columns
        kinds, values = self._nested() if nested else ({}, {})
        kinds |= {ROW: pa.int64(), LINE: pa.int64()}
        types = {name: kinds.get(key, pa.string()) for name, key in keys.items()}
        schema = pa.schema(list(types.items()))

        def value(key: str, cell: Any) -> Any:
            if not nested or not isinstance(cell, str):
                return cell
            return None if not cell else values[key](cell) if key in values else cell

        def tables() -> Iterator[pa.Table]:
            batch: list[Record] = []
            for record in self.records():
                batch.append({name: value(key, record[key]) for name, key in keys.items()})
                if len(batch) == BATCH_ROWS:
                    yield pa.Table.from_pylist(batch, schema)
                    batch = []
            if batch:
                yield pa.Table.from_pylist(batch, schema)

        return schema, tables()

    def _nested(self) -> "tuple[dict[str, pa.DataType], dict[str, Callable[[str], Any]]]":
        """Types and conversions of columns that are not plain texts."""
        mapping, texts = self.spec.mapping, pa.list_(pa.string())
        types: dict[str, pa.DataType] = {}
        values: dict[str, Callable[[str], Any]] = {}
        if self.spec.has_text_spans:
            name = str(mapping.tags)
            types[name] = pa.list_(SPAN)
            values[name] = lambda cell: [span._asdict() for span in read_spans(cell) or ()]
        elif mapping.tags is not None:
            for name in (mapping.text, mapping.tags):
                types[name], values[name] = texts, split_words
        label, sets = mapping.label, self.label_sets
        if label is not None and sets is not None:
            types[label], values[label] = texts, lambda cell: list(sets.get(cell.strip(), ()))
        elif label is not None and self.label_cells:
            if all(map(INTEGER.fullmatch, self.label_cells)):
                types[label], values[label] = pa.int64(), int
            elif all(map(_is_float, self.label_cells)):
                types[label], values[label] = pa.float64(), float
        return types, values


def _text(fact: Any) -> str:
    if isinstance(fact, bool):
        return "true" if fact else ""
    return "" if fact is None else str(fact)


def _is_float(cell: str) -> bool:
    """True for the spelling of a number that writing it restores."""
    try:
        return repr(float(cell)) == cell and cell not in ("nan", "inf", "-inf")
    except ValueError:
        return False
