"""Stored data sets: immutable versions with `spec.json` and `data.parquet` in a folder."""

import hashlib
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ValidationError

from engine.config.dataset import (
    SPLITS,
    DatasetSpec,
    DataSource,
    Source,
    SplitName,
    StoredData,
)
from engine.config.task import TaskSpec
from engine.config.validation import describe_validation
from engine.data.columns.fit import blank_columns, likely_task
from engine.data.columns.label_sets import (
    MARKS,
    YES,
    allows_blanks,
    count_label_sets,
    parse_label_sets,
)
from engine.data.datasets.importing import DATA, SPEC, Fingerprint, import_dataset
from engine.data.datasets.row_writer import GROUP_ROWS, UNASSIGNED
from engine.data.datasets.rows import Rows, StoredColumn
from engine.data.formats.reading import recognise
from engine.data.formats.sources import split_files
from engine.errors import BadCheckpoint, StudioError
from engine.files.atomic_write import MANIFEST, verify
from engine.files.regular_file import check_regular, read_regular
from engine.phrases import phrase
from engine.progress import Cancelled, ProgressCallback

READ_ERRORS = (OSError, ValueError, LookupError, pa.ArrowException)  # raised by damaged files
MAX_GROUP_BYTES = 1 << 29  # of texts in a row group; an import writes less
CACHE_BYTES = 1 << 29  # of row groups cached for scrolling
READ_ROWS = 256  # rows in memory while iterating over a split
MAX_SAMPLED_GROUPS = 8


class StoredTexts(Sequence[str]):
    """Texts of one split, read from disk in small batches on each iteration."""

    def __init__(self, dataset: "Dataset", split: SplitName) -> None:
        self._dataset, self._split = dataset, split

    def __len__(self) -> int:
        return self._dataset.spec.rows.get(self._split, 0)

    def __getitem__(self, index: Any) -> Any:
        indices = range(len(self))[index]
        if isinstance(indices, int):
            return next(islice(self, indices, None))
        if indices.step < 0:
            raise ValueError("texts are read in their order")
        return list(islice(self, indices.start, indices.stop, indices.step))

    def __iter__(self) -> Iterator[str]:
        for group in self._dataset.split_groups(self._split):
            yield from self._dataset.split_texts(group, self._split)

    def sample(self, count: int, random: np.random.Generator) -> list[str]:
        """Sample about `count` texts from at most `MAX_SAMPLED_GROUPS` row groups."""
        groups = self._dataset.split_groups(self._split)
        chosen = random.permutation(np.array(groups, dtype=np.int64))[:MAX_SAMPLED_GROUPS]
        sample: list[str] = []
        for group in chosen:
            texts = list(self._dataset.split_texts(int(group), self._split))
            indices = random.permutation(len(texts))[: -(-count // len(chosen))]
            sample += [texts[index] for index in indices]
        return sample


class Dataset:
    """One version of a data set, read lazily; thread-safe."""

    def __init__(self, folder: Path, spec: DatasetSpec) -> None:
        self.folder, self.spec = folder, spec
        self.stored = spec  # with all rows, unlike `spec` of a view
        self._view = ""  # its column of labels, and which rows are left out
        self._lock = threading.Lock()
        self._groups: dict[int, pa.Table] = {}
        self._cached_bytes = 0
        self._rng = random.Random(0)
        try:
            self._file = pq.ParquetFile(check_regular(folder / DATA))
            names = set(self._file.schema_arrow.names)
            if {*spec.columns, "_line", "_split"} - names:
                raise _damaged_error(folder)
            groups = map(self._file.metadata.row_group, range(self._file.num_row_groups))
            for group in groups:  # an import writes smaller groups
                if group.num_rows > GROUP_ROWS or group.total_byte_size > MAX_GROUP_BYTES:
                    raise _damaged_error(folder)
            self._dictionary_file = pq.ParquetFile(
                check_regular(folder / DATA), read_dictionary=list(spec.columns)
            )
            # int8 [rows], index into SPLITS; UNASSIGNED for the rows that a view leaves out
            self._splits = self._stored_splits = self._read_splits()
        except READ_ERRORS as error:
            raise _damaged_error(folder) from error
        if len(self._splits) != sum(spec.rows.values()):
            raise _damaged_error(folder)
        metadata = self._file.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._starts = np.cumsum([0, *sizes])  # [groups + 1], first row of each group

    def __len__(self) -> int:
        return len(self._splits)

    @property
    def splits(self) -> NDArray[np.int8]:
        """Split of each row, int8 [rows], index into SPLITS; -1 for rows left out."""
        return self._splits

    @property
    def identity(self) -> str:
        """The fingerprint; of a view, another one, as it has other labels or rows."""
        if not self._view:
            return self.spec.fingerprint
        return hashlib.sha256(f"{self.spec.fingerprint}{self._view}".encode()).hexdigest()

    def unlabelled(self, task: TaskSpec | None = None) -> NDArray[np.int64]:
        """Rows without a label for a task, by default the likely one; int64 [N], ascending."""
        spec = self.spec
        task = task or likely_task(spec.mapping, spec.labels)
        columns = blank_columns(spec, task)
        if not columns or (columns == spec.mapping.label_columns and not spec.unlabelled):
            return np.zeros(0, dtype=np.int64)
        is_blank = np.ones(len(self), dtype=bool)
        for name in columns:
            cells: Any = self.column(name)
            if name in spec.mapping.flags and allows_blanks(pc.unique(cells).to_pylist(), name):
                continue
            none: Any = pa.array(["", *spec.placeholders])
            blank: Any = pc.is_in(pc.utf8_trim_whitespace(cells.fill_null("")), value_set=none)
            is_blank &= blank.to_numpy()
        return np.flatnonzero(is_blank)

    def select(
        self, rows: Source | Literal["unlabelled"] | Sequence[int], task: TaskSpec | None = None
    ) -> NDArray[np.int64]:
        """Indices of a split, of all rows, of the unlabelled ones, or those given; int64 [N].

        Raises StudioError if a given index is not in the version.
        """
        match rows:
            case "all":
                return np.arange(len(self), dtype=np.int64)
            case "unlabelled":
                return self.unlabelled(task)
            case "train" | "validation" | "test":
                return np.flatnonzero(self._split_mask(rows))
            case _:
                indices = np.array(rows, dtype=np.int64)
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(self):
            raise StudioError(
                "The data set {name} has changed.", "Choose its rows again.", name=self.spec.name
            )
        return indices

    def with_target(self, column: str | None) -> "Dataset":
        """The same rows with another column of labels, one of `spec.targets`.

        Raises StudioError if there is no such target.
        """
        spec = self.spec
        if column in (None, spec.coded_column):
            return self
        if column not in spec.targets:
            raise StudioError(
                "“{column}” is not a column of labels of this data set.",
                phrase("Choose one of {names}.", names=", ".join(name[:60] for name in names))
                if (names := [*filter(None, (spec.coded_column,)), *spec.targets])
                else phrase("Import the file again, and choose its columns."),
                column=column[:60],
            )
        view = copy(self)
        view._view = f"@{column}"
        view.spec = view.stored = spec.with_target(column)
        return view

    def left_out(self, split: SplitName) -> int:
        """Number of rows of a split that `for_task` left out."""
        stored = self._mask(self._stored_splits, split)
        return int(stored.sum() - self._split_mask(split).sum())

    def for_task(self, task: TaskSpec) -> "Dataset":
        """The version without the rows that have no label for a task: they are in no split."""
        rows = self.unlabelled(task)
        if not len(rows):
            return self
        view = copy(self)
        view._splits = self._splits.copy()
        view._splits[rows] = UNASSIGNED
        view._view = f"{self._view}+{','.join(blank_columns(self.spec, task))}"
        counts = {name: int(self._mask(view._splits, name).sum()) for name in SPLITS}
        view.spec = self.spec.model_copy(update={"rows": counts, "unlabelled": {}})
        return view

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Hold the lock, and report a file that cannot be read as damaged."""
        try:
            with self._lock:
                yield
        except READ_ERRORS as error:
            raise _damaged_error(self.folder) from error

    def _read_splits(self) -> NDArray[np.int8]:
        names = pa.array(SPLITS)
        parts = [np.zeros(0, dtype=np.int8)]
        for batch in self._file.iter_batches(columns=["_split"]):
            indices = pc.index_in(batch.column(0), value_set=names)
            if indices.null_count:
                raise _damaged_error(self.folder)
            parts.append(indices.to_numpy().astype(np.int8))
        return np.concatenate(parts)

    def _split_mask(self, split: SplitName) -> NDArray[np.bool_]:
        """Rows of a split, bool [rows]."""
        return self._mask(self._splits, split)

    @staticmethod
    def _mask(splits: NDArray[np.int8], split: SplitName) -> NDArray[np.bool_]:
        return np.equal(splits, SPLITS.index(split))

    def stream(self, split: SplitName) -> Rows:
        """The texts of a split only, read on iteration."""
        return Rows(StoredTexts(self, split))

    def split_groups(self, split: SplitName) -> list[int]:
        """Row groups with rows of a split."""
        rows = np.flatnonzero(self._split_mask(split))
        return [int(n) for n in np.unique(np.searchsorted(self._starts, rows, side="right") - 1)]

    def split_texts(self, group: int, split: SplitName) -> Iterator[str]:
        """Texts of a split in one row group."""
        mask = self._split_mask(split)[self._starts[group] : self._starts[group + 1]]
        column = self.spec.mapping.text
        batches = self._file.iter_batches(READ_ROWS, row_groups=[group], columns=[column])
        first = 0
        while True:
            with self._reading():
                batch = next(batches, None)
                if batch is None:
                    return
                local = pa.array(mask[first : first + len(batch)])
                texts = batch.column(0).filter(local).to_pylist()
            first += len(batch)
            yield from ("" if text is None else text for text in texts)

    def rows(self, split: SplitName) -> Rows:
        """Rows of a split; columns are read on first access."""
        mapping, count = self.spec.mapping, int(self._split_mask(split).sum())
        cells = {
            name: StoredColumn(count, partial(self._split_cells, name, split))
            for name in mapping.columns
        }
        lines: list[int] = self.column("_line").to_numpy()[self._split_mask(split)].tolist()
        stored = np.flatnonzero(self._mask(self._stored_splits, split))
        numbers = np.searchsorted(stored, np.flatnonzero(self._split_mask(split)))
        return replace(Rows.from_columns(mapping, cells, lines), numbers=numbers.tolist())

    def cells(self, split: SplitName) -> dict[str, list[str]]:
        """All source columns of a split."""
        return {name: self._split_cells(name, split) for name in self.spec.columns}

    def _split_cells(self, name: str, split: SplitName) -> list[str]:
        column = self.column(name).filter(pa.array(self._split_mask(split)))
        cells: Any = column.fill_null(pa.scalar("")) if column.null_count else column
        if name == self.spec.mapping.label:  # an import trims only its own label column
            cells = pc.utf8_trim_whitespace(cells)
        texts: list[str] = cells.to_numpy(zero_copy_only=False).tolist()
        return texts

    def column(self, name: str) -> "pa.ChunkedArray[Any]":
        """A column of all rows; `_line` has their source lines."""
        with self._reading():
            return self._file.read(columns=[name]).column(0)

    @property
    def group_count(self) -> int:
        """Number of row groups."""
        return len(self._starts) - 1

    def group_column(self, group: int, name: str) -> "pa.ChunkedArray[Any]":
        """A column of one row group, dictionary-encoded."""
        with self._reading():
            return self._dictionary_file.read_row_group(group, columns=[name]).column(0)

    def page(self, first: int, count: int, split: SplitName | None = None) -> list[dict[str, Any]]:
        """A range of rows with all columns, `_line` and `_split`."""
        if split is None:
            return self.take(np.arange(first, min(first + count, len(self))))
        return self.take(np.flatnonzero(self._split_mask(split))[first : first + count])

    def take(
        self,
        indices: NDArray[np.int64],
        columns: Sequence[str] | None = None,
        max_characters: int | None = None,
    ) -> list[dict[str, Any]]:
        """Rows by index, with all columns or some; cells are truncated to `max_characters`."""
        groups = np.searchsorted(self._starts, indices, side="right") - 1
        records: list[dict[str, Any]] = [{}] * len(indices)
        for group in np.unique(groups):
            positions = np.flatnonzero(groups == group)
            local = indices[positions] - self._starts[group]
            table = self._group(int(group))
            chosen = table if columns is None else table.select(list(columns))
            chosen = chosen.take(pa.array(local))
            cells = [truncate_cells(column, max_characters) for column in chosen.columns]
            rows = zip(*cells, strict=True)
            for position, row in zip(positions.tolist(), rows, strict=True):
                records[position] = dict(zip(chosen.column_names, row, strict=True))
        return records

    def find(
        self,
        text: str = "",
        split: SplitName | None = None,
        label: str | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> NDArray[np.int64]:
        """Find rows with `text` in some cell (ignoring case), in a split, with a label; “” finds
        rows without one.

        Raises Cancelled soon after `cancelled()` is true.
        """
        chosen = np.ones(len(self), dtype=bool) if split is None else self._split_mask(split)
        if label == "":
            chosen = chosen & np.isin(np.arange(len(self)), self.unlabelled())
            label = None
        for group in range(self.group_count) if text or label is not None else ():
            if cancelled is not None and cancelled():
                raise Cancelled
            local = slice(self._starts[group], self._starts[group + 1])
            if chosen[local].any():
                chosen[local] &= self._match_group(group, text, label)
        return np.flatnonzero(chosen)

    def _match_group(self, group: int, text: str, label: str | None) -> NDArray[np.bool_]:
        """Matching rows of a row group, bool [rows of the group]."""
        searched = self.spec.columns if text else ()
        label_column, cells = (None, ()) if label is None else self._label_cells(label)
        columns = dict.fromkeys([*searched, *([] if label_column is None else [label_column])])
        with self._reading():
            table = self._dictionary_file.read_row_group(group, columns=list(columns))
        hits = np.full(len(table), not text)
        for name in searched:
            hits |= match_rows(
                table.column(name), lambda part: pc.match_substring(part, text, ignore_case=True)
            )
        if label_column is not None:
            is_flag, label_cells = (
                label_column in self.spec.mapping.flags,
                pa.array(cells, pa.string()),
            )
            hits &= match_rows(
                table.column(label_column),
                lambda part: pc.is_in(
                    pc.utf8_lower(pc.utf8_trim_whitespace(part))
                    if is_flag
                    else pc.utf8_trim_whitespace(part),
                    label_cells,
                ),
            )
        return hits

    def _label_cells(self, label: str) -> tuple[str | None, tuple[str, ...]]:
        mapping, cells = self.spec.mapping, self.spec.labels
        if label in mapping.flags:
            return label, (*YES, *MARKS, label.rpartition("– ")[2].casefold())
        if count_label_sets(cells) is None:
            return mapping.label, (label,)
        sets = zip(cells, parse_label_sets(cells), strict=True)
        return mapping.label, tuple(cell for cell, labels in sets if label in labels)

    def verify(self) -> None:
        """Verify that the files are unchanged.

        Uses the checksums of the manifest; without one, the fingerprint of all rows, which takes
        100 times as long.

        Raises StudioError if they differ.
        """
        if (self.folder / MANIFEST).is_file():
            try:
                verify(self.folder)
            except BadCheckpoint as error:
                raise _damaged_error(self.folder) from error
            return
        fingerprint = Fingerprint(self.spec.columns, self.spec.mapping)
        with self._reading():
            for group in range(self._file.num_row_groups):
                for batch in self._file.iter_batches(READ_ROWS, row_groups=[group]):
                    fingerprint.add(batch)
        if fingerprint.hexdigest() != self.spec.fingerprint:
            raise _damaged_error(self.folder)

    def _group(self, index: int) -> pa.Table:
        with self._reading():
            if index not in self._groups:
                table = self._dictionary_file.read_row_group(index)
                if table_size(table) > MAX_GROUP_BYTES:
                    raise _damaged_error(self.folder)
                self._evict_groups(table.nbytes)
                self._groups[index] = table
            return self._groups[index]

    def _evict_groups(self, size: int) -> None:
        """Evict cached groups at random until `size` bytes fit.

        Paging through sorted rows cycles over all groups, which would defeat an LRU cache.
        """
        while self._groups and self._cached_bytes + size > CACHE_BYTES:
            evicted = self._groups.pop(self._rng.choice(list(self._groups)))
            self._cached_bytes -= evicted.nbytes
        self._cached_bytes += size


def open_dataset(folder: Path) -> Dataset:
    """Open a version.

    Raises StudioError if the folder has none, or it is damaged.
    """
    try:
        content = read_regular(folder / SPEC)
        spec = DatasetSpec.model_validate_json(content)
    except ValidationError as error:
        raise describe_validation(
            error, phrase("The data set {folder}", folder=folder.name)
        ) from error
    except OSError as error:
        raise StudioError(
            "The folder does not contain a data set.",
            "Searched in {folder}. Choose its folder, or import it again.",
            folder=folder,
        ) from error
    return Dataset(folder, spec)


def resolve(
    source: DataSource,
    target: Path,
    progress: ProgressCallback | None = None,
    cancelled: Callable[[], bool] | None = None,
    task: TaskSpec | None = None,
    model_texts: Mapping[str, str] | None = None,
) -> Dataset:
    """Open the data of a job: a verified stored version, or files imported to `target`; with a
    task, without the rows that have no label for it.

    If the source has no mapping, columns that suit `task` are used, and `model_texts`, the texts of
    a model by role. An existing `target` is opened
    unchanged, so that a run resumes with its data.

    Raises StudioError if the data is missing, damaged, or differs from that of the job.
    """
    dataset = _open_source(source, target, progress, cancelled, task, model_texts)
    return dataset if task is None else dataset.for_task(task)


def _open_source(
    source: DataSource,
    target: Path,
    progress: ProgressCallback | None,
    cancelled: Callable[[], bool] | None,
    task: TaskSpec | None,
    model_texts: Mapping[str, str] | None,
) -> Dataset:
    if isinstance(source, StoredData):
        dataset = open_dataset(source.folder)
        if source.fingerprint and source.fingerprint != dataset.spec.fingerprint:
            raise StudioError(
                "The data set in {folder} is not the one this job was created for.",
                "Restore the original version, or create a new job.",
                folder=source.folder.name,
            )
        dataset.verify()
        return dataset.with_target(source.target)
    if target.exists():
        return open_dataset(target)
    files = split_files(source.path, source.validation)
    recognised = recognise(files.main_file, source.reading, task=task, model_texts=model_texts)
    mapping = source.mapping or recognised.mapping
    if mapping is None:
        raise StudioError(
            "Could not tell which column of {path} contains the text.",
            "Choose one of its columns: {columns}.",
            path=source.path.name,
            columns=", ".join(recognised.columns[:20]),
        )
    import_dataset(
        source.path.stem,
        files.sources,
        recognised.reading,
        mapping,
        source.split,
        target,
        progress=progress,
        cancelled=cancelled,
        cleaning=source.cleaning,
    )
    return open_dataset(target)


def table_size(table: pa.Table) -> int:
    """Size of all texts of a table in bytes if it were not dictionary-encoded.

    A small file may repeat a long text thousands of times; it is stored and searched once.
    """
    return sum(
        pc.sum(pc.binary_length(part.dictionary).take(part.indices).cast(pa.int64())).as_py() or 0
        for column in table.columns
        for part in _parts(column)
    )


def truncate_cells(column: "pa.ChunkedArray[Any]", max_characters: int | None = None) -> list[Any]:
    """Read the cells of a column, truncated to `max_characters`."""
    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    cells = []
    for part in _parts(column):
        used = pc.unique(part.indices)
        texts = part.dictionary.take(used)
        if max_characters is not None:
            texts = pc.utf8_slice_codeunits(texts, 0, max_characters)
        unique = texts.to_pylist()
        cells += [unique[n] for n in pc.index_in(part.indices, value_set=used).to_pylist()]
    return cells


def match_rows(
    column: "pa.ChunkedArray[Any]", match: Callable[["pa.Array[Any]"], "pa.Array[Any]"]
) -> NDArray[np.bool_]:
    """Find the rows whose text matches, bool [rows]; null never matches."""
    parts = [np.zeros(0, dtype=bool)]
    for part in _parts(column):
        hits = match(part.dictionary).take(part.indices).fill_null(pa.scalar(False))
        parts.append(hits.to_numpy(zero_copy_only=False))
    return np.concatenate(parts)


def _parts(column: "pa.ChunkedArray[Any]") -> list[Any]:
    return column.chunks if pa.types.is_dictionary(column.type) else []


def _damaged_error(folder: Path) -> StudioError:
    return StudioError(
        "The data set in {folder} is damaged: its rows differ from what was imported.",
        "Import its source files again.",
        folder=folder.name,
    )
