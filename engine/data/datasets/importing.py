"""Import files as a version of a data set: read, split, write a folder."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ValidationError

from engine.checkpoints.elsewhere import DATA_PREFIX, SNAPSHOTS
from engine.checkpoints.source import CARD, card_licence
from engine.config.codebook import MAX_LABEL, Code, Codebook
from engine.config.dataset import (
    SPLITS,
    Cleaning,
    DatasetSpec,
    HubOrigin,
    Mapping,
    Reading,
    Source,
    Split,
    SplitName,
    Target,
)
from engine.config.task import MAX_CLASSES, TaskSpec
from engine.data.columns.fit import (
    label_gaps,
    task_problems,
    unseen_label_problems,
)
from engine.data.columns.label_sets import count_label_sets, parse_label_sets
from engine.data.columns.mapping import label_columns
from engine.data.columns.numbers import is_scale, scale_bins
from engine.data.columns.placeholders import find_placeholders
from engine.data.columns.spellings import Spellings, find_spellings, match_labels
from engine.data.columns.text_spans import SpanCounts
from engine.data.columns.times import parse_times
from engine.data.datasets.coding import Coding, write_coding
from engine.data.datasets.collecting import NO_CLEANING, FileImport, Sources, collect, list_files
from engine.data.datasets.history import import_changes
from engine.data.datasets.row_writer import SourceRows
from engine.data.datasets.splitting import (
    count_grouped_rows,
    draw_splits,
    group_rows,
    split_by_time,
)
from engine.data.formats.archives import file_on_disk
from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder, disk_errors_for
from engine.files.home import versions_in
from engine.files.regular_file import check_regular, read_regular
from engine.phrases import Phrase, join, phrase
from engine.progress import Cancelled, ProgressCallback

SPEC, DATA = "spec.json", "data.parquet"
COLON, EMPTY = pa.scalar(":", pa.large_string()), pa.scalar("", pa.large_string())
MAX_UNSEEN_LABELS = 10  # that are stored
MAX_TARGETS = 10  # columns that are counted besides the one in use
MAX_NOTES = 1_000  # on labels in several spellings


def import_dataset(
    name: str,
    sources: Sources,
    reading: Reading,
    mapping: Mapping,
    split: Split,
    target: Path,
    version: int = 1,
    progress: ProgressCallback | None = None,
    cancelled: Callable[[], bool] | None = None,
    cleaning: Cleaning = NO_CLEANING,
    hub: HubOrigin | None = None,
    coding: Coding | None = None,
) -> DatasetSpec:
    """Import files as one version; `target` is written atomically.

    `reading` applies to the first source; encoding and header of the others are recognised. A split
    without a source is drawn from the training rows. `progress` is called with bytes of all
    sources. `hub` is the origin of the files; by default that of the hub cache. `coding` is that
    of the rows, which are numbered as in the sources.

    Raises:
        BadFile: with the line.
        Cancelled: soon after `cancelled()` is true.
    """
    files = list_files(sources)
    for _, path in files:
        _check_storable(path)
    request = FileImport(sources, reading, mapping, split, cleaning)
    with _no_empty_folder(target.parent), atomic_folder(target) as folder:
        collected = collect(request, folder, progress, cancelled)
        splits, remarks = split_rows(collected, sources, split)
        spec = DatasetSpec(
            name=name,
            version=version,
            sources={
                source: tuple(path.absolute() for key, path in files if key == source)
                for source in sources
            },
            hub=hub or cached_origin(path for _, path in files),
            reading=reading,
            mapping=mapping,
            split=split,
            cleaning=cleaning,
            columns=collected.columns,
            codebooks=_span_codebook(collected, mapping),
            notes=(
                *(*collected.notes, *remarks, *overlap_notes(collected)),
                *label_notes(collected.labels or collected.spans),
            ),
            rows={},
            fingerprint="",
        )
        write_coding(folder, coding or {})
        older = _older_version(target, version)
        return write_version(folder, spec, collected, splits, cancelled, older)


def _span_codebook(collected: SourceRows, mapping: Mapping) -> dict[str, Codebook]:
    """The codebook of spans of characters, with their labels; none for other columns."""
    if mapping.tags is None or collected.overlaps is None:
        return {}
    codes = (Code(label=label) for label in sorted(collected.spans) if len(label) <= MAX_LABEL)
    return {mapping.tags: Codebook(kind="spans", codes=tuple(codes))}


@contextmanager
def _no_empty_folder(folder: Path) -> Iterator[None]:
    """Remove a folder that the block makes and leaves empty, so that its name stays free."""
    is_new = not folder.exists()
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):  # not empty, or not made
                folder.rmdir()


def _older_version(folder: Path, version: int) -> DatasetSpec | None:
    """The newest readable version before `version` in the same data set."""
    for number in reversed(versions_in(folder.parent) if version > 1 else []):
        with suppress(OSError, ValidationError):
            if number < version:
                content = read_regular(folder.parent / str(number) / SPEC)
                return DatasetSpec.model_validate_json(content)
    return None


@contextmanager
def collected_rows(
    request: FileImport,
    scratch: Path | None,
    progress: ProgressCallback | None,
    cancelled: Callable[[], bool] | None,
) -> Iterator[SourceRows]:
    """Read every row of every file as an import would, into temporary files.

    Args:
        scratch: folder for temporary files; that of the system if None.

    Raises:
        BadFile: with the line of the first row that cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    parent = scratch or Path(gettempdir())
    with disk_errors_for(parent), TemporaryDirectory(dir=parent, prefix="check-") as folder:
        yield collect(request, Path(folder), progress, cancelled)


def survey(
    request: FileImport,
    scratch: Path | None = None,
    progress: ProgressCallback | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> SourceRows:
    """Count labels and empty cells of all rows without storing them. Raises as `collected_rows`."""
    with collected_rows(request, scratch, progress, cancelled) as collected:
        return collected


def survey_problems(collected: SourceRows, mapping: Mapping, task: TaskSpec) -> list[StudioError]:
    """Problems that prevent a task from using these rows."""
    empty, rows = count_empty_cells(collected)
    labels = collected.flags or collected.labels or collected.spans or None
    missing_answers = int(
        (collected.splits[collected.missing_answers] != SPLITS.index("test")).sum()
    )
    missing = count_unlabelled(collected, mapping, task)
    problems = task_problems(
        *(collected.columns, mapping, task, labels, empty, rows),
        *(missing_answers, collected.uneven_choices, missing < len(collected.splits)),
    )
    return problems + unseen_label_problems(unseen_labels(collected, collected.splits), task)


def count_unlabelled(collected: SourceRows, mapping: Mapping, task: TaskSpec) -> int:
    """Number of rows without a label for a task."""
    is_read = task.label_columns(mapping) == mapping.label_columns
    return len(collected.unlabelled) if is_read else 0


def survey_notes(collected: SourceRows, mapping: Mapping, task: TaskSpec) -> list[str]:
    """Notes on rows without a label; none if all have one."""
    empty, _ = count_empty_cells(collected)
    unlabelled = count_unlabelled(collected, mapping, task)
    return label_gaps(unlabelled, len(collected.splits), mapping, task, empty)


def cached_origin(paths: Iterable[Path]) -> HubOrigin | None:
    """Find the origin of files that are all in one commit of the hub cache.

    The cache stores neither host nor subset, so these stay empty.
    """
    folders = (file_on_disk(path).absolute().parents for path in paths)
    commits = {next(filter(_is_commit, parents), None) for parents in folders}
    commit = commits.pop() if len(commits) == 1 else None
    if commit is None:
        return None
    name = commit.parent.parent.name.removeprefix(DATA_PREFIX).replace("--", "/")
    return HubOrigin(name=name, revision=commit.name, host="", licence=card_licence(commit / CARD))


def _is_commit(folder: Path) -> bool:
    """True for datasets--OWNER--NAME/snapshots/COMMIT."""
    snapshots = folder.parent
    return snapshots.name == SNAPSHOTS and snapshots.parent.name.startswith(DATA_PREFIX)


def write_version(
    folder: Path,
    spec: DatasetSpec,
    collected: SourceRows,
    splits: NDArray[np.int8],
    cancelled: Callable[[], bool] | None = None,
    older: DatasetSpec | None = None,
) -> DatasetSpec:
    """Write the rows with their splits, and `spec` completed with their counts, and with what
    changed since an `older` version that was imported.
    """
    fingerprint = Fingerprint(collected.columns, spec.mapping)
    likely = label_columns(collected.columns, collected.first_rows, spec.mapping)
    likely = tuple(name for name in likely if name != spec.split.column)
    targets = _TargetCounts(likely, spec.mapping, spec.codebooks)
    _write_rows(folder, collected, splits, fingerprint, targets, cancelled)
    counts = np.bincount(splits, minlength=len(SPLITS))
    updated = spec.model_copy(
        update={
            "source_sha256": collected.sha256,
            "rows": {name: int(count) for name, count in zip(SPLITS, counts, strict=True)},
            "labels": dict(sorted((collected.flags or collected.labels).items())),
            "empty": {
                name: count
                for name, rows in collected.empty.items()
                if (count := int((splits[rows] != SPLITS.index("test")).sum()))
            },
            "unlabelled": {
                name: int(count)
                for name, count in zip(
                    SPLITS,
                    np.bincount(splits[collected.unlabelled], minlength=len(SPLITS)),
                    strict=True,
                )
                if count
            },
            "missing_answers": int(
                (splits[collected.missing_answers] != SPLITS.index("test")).sum()
            ),
            "uneven_choices": collected.uneven_choices,
            "unseen": unseen_labels(collected, splits),
            "targets": targets.finish(),
            "spans": dict(sorted(collected.spans.items())),
            "overlaps": collected.overlaps or 0,
            "fingerprint": fingerprint.hexdigest(),
        }
    )
    if older is not None:
        changes = import_changes(older, updated)
        updated = updated.model_copy(update={"changes": changes})
    (folder / SPEC).write_text(updated.model_dump_json(indent=1), encoding="utf-8")
    return updated


def unseen_labels(collected: SourceRows, splits: NDArray[np.int8]) -> tuple[str, ...]:
    """Labels of validation rows that no training row has, at most `MAX_UNSEEN_LABELS`.

    `splits` is int8 [rows]; rows that are not split yet count as training rows.
    """
    if not collected.labels:
        return ()
    names = np.array(list(collected.labels), dtype=object)
    validation, test = SPLITS.index("validation"), SPLITS.index("test")
    is_train = (splits != validation) & (splits != test)
    in_train, in_validation = (
        names[np.unique(collected.label_indices[rows])].tolist()
        for rows in (is_train, splits == validation)
    )
    return _unseen(collected.labels, in_train, in_validation)


def _unseen(
    labels: dict[str, int], in_train: Iterable[str], in_validation: Iterable[str]
) -> tuple[str, ...]:
    """Labels in cells of validation rows and in none of training rows."""
    if is_scale(labels):
        return ()
    are_sets = count_label_sets(labels) is not None

    def parse(cells: Iterable[str]) -> tuple[str, ...]:
        sets = parse_label_sets(cells) if are_sets else [(cell,) for cell in cells]
        return tuple(dict.fromkeys(label for labels in sets for label in labels if label))

    _, unknown_labels = match_labels(parse(in_validation), parse(in_train))
    return tuple(unknown_labels[:MAX_UNSEEN_LABELS])


class _TargetCounts:
    """Counts of the columns, other than those in use, that may hold labels, by split; also of all
    coded ones."""

    def __init__(
        self, columns: Sequence[str], mapping: Mapping, codebooks: Table[str, Codebook]
    ) -> None:
        others = () if mapping.tags or mapping.answers or mapping.endings else columns
        used = {*mapping.sources} - {*mapping.flags, *mapping.coders}
        coded = [name for name in codebooks if name not in used]
        chosen = [name for name in others if name not in (*used, *coded)]
        self._counts = {
            name: Counter[tuple[str, int]]() for name in [*coded, *chosen][:MAX_TARGETS]
        }
        self._coded = {*coded}
        self._spans = {n: SpanCounts() for n in coded if codebooks[n].kind == "spans"}

    def add(self, table: pa.Table, splits: NDArray[np.int8]) -> None:
        """Count the cells of a table whose rows are in these splits, int8 [rows]."""
        for name, counts in list(self._counts.items()):
            column = table.column(name)
            if name in self._spans:
                cells = [(cell or "").strip() for cell in column.to_pylist()]
                for cell in cells:
                    self._spans[name].add(cell)
                column = pa.chunked_array([pa.array([cell and "coded" for cell in cells])])
            encoded: Any = column.combine_chunks().dictionary_encode()
            names = [(cell or "").strip() for cell in encoded.dictionary.to_pylist()]
            keys = encoded.indices.to_numpy().astype(np.int64) * len(SPLITS) + splits
            for key, rows in enumerate(np.bincount(keys).tolist()):
                if rows:
                    counts[names[key // len(SPLITS)], key % len(SPLITS)] += rows
            if len(counts) > MAX_CLASSES * len(SPLITS):
                del self._counts[name]

    def finish(self) -> dict[str, Target]:
        """The columns with at least two labels, and the coded ones."""
        targets = {name: self._target(counts) for name, counts in self._counts.items()}
        for name, spans in self._spans.items():
            labels = {"labels": dict(sorted(spans.types.items())), "unseen": ()}
            targets[name] = targets[name].model_copy(update=labels)
        return {
            name: target
            for name, target in targets.items()
            if name in self._coded or len({*target.labels} - {""}) > 1
        }

    def _target(self, counts: Counter[tuple[str, int]]) -> Target:
        placeholders = find_placeholders({label for label, _ in counts})
        none = {"", *placeholders}
        labels = Counter[str]()
        for (label, _), rows in counts.items():
            labels["" if label in none else label] += rows
        cells = [
            [label for label, split in counts if split == index and label not in none]
            for index in range(len(SPLITS))
        ]
        train, validation = SPLITS.index("train"), SPLITS.index("validation")
        unlabelled = {
            name: rows
            for index, name in enumerate(SPLITS)
            if (rows := sum(counts[label, index] for label in none))
        }
        return Target(
            labels=dict(sorted(labels.items())),
            unlabelled=unlabelled,
            placeholders=tuple(placeholders),
            unseen=_unseen(dict(labels), cells[train], cells[validation]),
        )


class Fingerprint:
    """SHA-256 over mapping, cells and splits, independent of the row groups."""

    def __init__(self, columns: tuple[str, ...], mapping: Mapping) -> None:
        self._names = [*columns, "_split"]
        names = "".join(f"{len(name)}:{name}" for name in self._names)
        self._hash = hashlib.sha256((mapping.identity() + names).encode("utf-8"))

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Hash cells row by row as length, colon, cell."""
        parts: list[Any] = []
        for name in self._names:
            cells: Any = batch.column(name).cast(pa.large_string())
            parts += [_count_characters(cells).cast(pa.large_string()), COLON, cells]
        joined: Any = pc.binary_join_element_wise(*parts, EMPTY)
        for texts in filter(
            len, joined.chunks if isinstance(joined, pa.ChunkedArray) else [joined]
        ):
            _, offset_buffer, content = texts.buffers()
            offsets = np.frombuffer(memoryview(offset_buffer), dtype=np.int64)
            first, last = offsets[texts.offset], offsets[texts.offset + len(texts)]
            if content is not None and last > first:
                self._hash.update(memoryview(content)[int(first) : int(last)])

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _check_storable(path: Path) -> None:
    """Refuse a path that is not valid Unicode, which `spec.json` cannot hold."""
    try:
        str(path.absolute()).encode("utf-8")
    except UnicodeEncodeError as error:
        raise StudioError(
            "The name of the file or of a parent folder is not valid text.", "Rename it."
        ) from error


def split_rows(
    collected: SourceRows, sources: Collection[Source], split: Split
) -> tuple[NDArray[np.int8], list[str]]:
    """Split of each row, int8 [rows], and notes on the split; `sources` have one of their own.

    Rows with equal texts, and questions about the same passage, share a split that is drawn at
    random; rows of a group a split by group. The newest rows are the test set of a split by time.

    Raises StudioError if the times cannot be read, or are all the same.
    """
    free = np.flatnonzero(collected.splits < 0)
    validation = 0.0 if "validation" in sources else split.validation
    test = 0.0 if "test" in sources else split.test
    splits = collected.splits.copy()
    if split.by == "time":
        times = _times(collected, split, free)
        splits[free] = split_by_time(times, validation, test)
        return splits, _shared_texts(collected, splits)
    labels = _strata(collected)[free] if collected.labels and split.stratify else None
    keys = collected.text_keys if split.by == "name" else _group_keys(collected)
    groups = group_rows(keys if len(free) == len(keys) else keys[free])
    splits[free], singles = draw_splits(len(free), validation, test, split.seed, labels, groups)
    grouped = count_grouped_rows(groups) if len(free) and validation + test else 0
    if labels is not None and np.isin(free, collected.unlabelled).sum() == 1:
        singles -= 1  # no label is none
    notes: list[str] = []
    if singles == 1:
        notes.append(phrase("One label has a single row; it went into the training set."))
    elif singles:
        notes.append(
            phrase(
                "{rare} labels have a single row each; these rows went into the training set.",
                rare=singles,
            )
        )
    if split.by == "group":
        notes += _group_notes(keys, splits, split)
        return splits, notes + _shared_texts(collected, splits)
    if grouped:
        notes.append(
            phrase("{rows:,} rows share a passage; the split keeps them together.", rows=grouped)
            if collected.passages_are_keys
            else phrase(
                "{rows:,} rows have equal texts; the split keeps them together.", rows=grouped
            )
        )
    return splits, notes


SPLIT_NOTES = (  # how they begin
    "One label has a single row",
    "{rare} labels have a single row",
    "{rows:,} rows share a passage",
    "{rows:,} rows have equal texts",
    "Split by “{column}”",
    "{n:,} validation or test row(s) have the text",
)


def is_split_note(note: str) -> bool:
    """True if the note is about a split, so that it does not hold for another one."""
    return isinstance(note, Phrase) and note.key.startswith(SPLIT_NOTES)


def _times(collected: SourceRows, split: Split, free: NDArray[np.int64]) -> NDArray[np.float64]:
    """Times of the rows to split, float64 [rows]."""
    cells, indices = collected.split_cells
    used = np.unique(indices[free])
    names = [cells[index] for index in used]
    column = (split.column or "")[:60]
    if empty := int((indices[free] == cells.index("")).sum()) if "" in names else 0:
        raise StudioError(
            "{n:,} row(s) have no time in “{column}”.",
            "Leave these rows out, or choose another column for the split.",
            n=empty,
            column=column,
        )
    if len(names) < 2:
        raise StudioError(
            "All rows have the same time in “{column}”.",
            "Choose another column for the split.",
            column=column,
        )
    times = np.zeros(len(cells))
    times[used] = parse_times(names)
    row_times: NDArray[np.float64] = times[indices[free]]
    return row_times


def _group_keys(collected: SourceRows) -> NDArray[np.int64]:
    """Group of each row, int64 [rows]; a row without one is a group of its own."""
    cells, indices = collected.split_cells
    keys = indices.astype(np.int64)
    if "" in cells:
        alone = np.flatnonzero(indices == cells.index(""))
        keys[alone] = len(cells) + alone
    return keys


def _group_notes(keys: NDArray[np.int64], splits: NDArray[np.int8], split: Split) -> list[str]:
    counts = [len(np.unique(keys[splits == index])) for index in range(len(SPLITS))]
    return [
        phrase(
            "Split by “{column}”. Groups for training: {train:,}, for validation: "
            "{validation:,}, for the test: {test:,}; none is in two of them.",
            column=(split.column or "")[:60],
            **dict(zip(SPLITS, counts, strict=True)),
        )
    ]


def _shared_texts(collected: SourceRows, splits: NDArray[np.int8]) -> list[str]:
    """Number of evaluation rows with the text of a training row."""
    keys, is_train = collected.text_keys, splits == SPLITS.index("train")
    shared = int(np.isin(keys[~is_train], keys[is_train]).sum())
    if not shared:
        return []
    return [
        phrase(
            "{n:,} validation or test row(s) have the text of a training row (leakage): a split by "
            "time or group does not keep equal texts together. The checks can drop them.",
            n=shared,
        )
    ]


def find_random_splits(sources: Collection[Source], split: Split) -> tuple[SplitName, ...]:
    """The splits that are drawn at random: all, or those without a separate file."""
    if split.column is not None:
        return ()
    return tuple(name for name in SPLITS if name not in sources)


def _strata(collected: SourceRows) -> NDArray[np.int32]:
    """Strata of the split, int32 [rows]: labels, deciles of a scale; one stratum for label sets."""
    if is_scale(collected.labels):
        return scale_bins(collected.labels)[collected.label_indices]
    if count_label_sets(collected.labels) is not None:
        return np.zeros_like(collected.label_indices)
    return collected.label_indices


OVERLAP_NOTE = "{n:,} of {spans:,} span(s) overlap a longer one"  # how it begins


def overlap_notes(collected: SourceRows) -> list[str]:
    """Note on spans of characters that a tagger cannot learn; none without such spans."""
    if not collected.overlaps:
        return []
    return [
        phrase(
            "{n:,} of {spans:,} span(s) overlap a longer one. They are kept; token classification "
            "leaves them out, and the later one of two equally long ones; span classification "
            "learns all of them.",
            n=collected.overlaps,
            spans=sum(collected.spans.values()),
        )
    ]


def is_overlap_note(note: str) -> bool:
    """True for a note of `overlap_notes`."""
    return isinstance(note, Phrase) and note.key.startswith(OVERLAP_NOTE)


def label_notes(labels: dict[str, int]) -> list[str]:
    """Notes on label spellings."""
    return [spelling_note(group) for group in label_spellings(labels)]


def label_spellings(labels: dict[str, int]) -> list[Spellings]:
    """Labels, or types of spans, that seem to have several spellings.

    Sets of labels are split; scores have no spellings.
    """
    return (
        [] if is_scale(labels) else find_spellings(count_label_sets(labels) or labels)[:MAX_NOTES]
    )


def count_empty_cells(collected: SourceRows) -> tuple[dict[str, int], int]:
    """Number of empty cells of each column, and of rows; test rows are excluded."""
    is_counted = collected.splits != SPLITS.index("test")
    empty = {name: int(is_counted[rows].sum()) for name, rows in collected.empty.items()}
    return empty, int(is_counted.sum())


def spelling_note(group: Spellings) -> str:
    others = join(", ", [f"“{label[:60]}”" for label in group.others[:4]])
    return phrase(
        "The labels “{usual}” and {others} may be the same; they are treated as different labels.",
        usual=group.usual[:60],
        others=others,
    )


def _write_rows(
    folder: Path,
    collected: SourceRows,
    splits: NDArray[np.int8],
    fingerprint: "Fingerprint",
    targets: "_TargetCounts",
    cancelled: Callable[[], bool] | None,
) -> None:
    """Copy the collected rows with their splits to the final file."""
    names: Any = pa.array(SPLITS)
    source = pq.ParquetFile(check_regular(collected.rows))
    schema = source.schema_arrow.append(pa.field("_split", pa.string()))
    first = 0
    with (
        source,
        pq.ParquetWriter(
            folder / DATA,
            schema,
            compression="zstd",
            use_dictionary=[*_repetitive_columns(source), "_split"],  # type: ignore[arg-type]
            write_statistics=False,
        ) as writer,
        ThreadPoolExecutor(1, "fingerprint") as pool,
    ):
        for group in range(source.num_row_groups):
            if cancelled is not None and cancelled():
                raise Cancelled
            table = source.read_row_group(group)
            split_names = names.take(pa.array(splits[first : first + len(table)]))
            table = table.append_column("_split", split_names)
            first += len(table)
            hashing = pool.submit(fingerprint.add, table)
            writer.write_table(table, row_group_size=len(table))
            targets.add(table, splits[first - len(table) : first])
            hashing.result()
    collected.rows.unlink()


def _repetitive_columns(source: pq.ParquetFile) -> list[str]:
    """Columns with repeated cells in the first row group, to dictionary-encode."""
    if not source.num_row_groups:
        return []
    table = source.read_row_group(0)
    counts = {name: pc.count_distinct(table.column(name)).as_py() for name in table.column_names}
    return [name for name, count in counts.items() if count <= len(table) // 2]


def _count_characters(cells: Any) -> Any:
    """Number of characters in each cell, int64 [rows]."""
    parts = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    contents = [part.buffers()[2] for part in parts]
    is_ascii = all(
        not content or np.frombuffer(memoryview(content), dtype=np.uint8).max() < 128
        for content in contents
    )
    return pc.binary_length(cells) if is_ascii else pc.utf8_length(cells)
