"""Read all sources of a data set once into one Parquet file with common columns."""

from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from engine.config.dataset import SPLITS, Cleaning, Mapping, Reading, Source, Split
from engine.data.columns.coders import agreed_cells
from engine.data.columns.label_sets import mixture_note
from engine.data.columns.placeholders import find_placeholders, find_uncoded
from engine.data.columns.tag_column import TagColumn
from engine.data.columns.text_spans import SpanCounts
from engine.data.datasets.row_writer import UNASSIGNED, RowWriter, SourceRows
from engine.data.formats.archives import file_on_disk
from engine.data.formats.batches import Batch
from engine.data.formats.folder import folder_sha256, folder_size, folder_state
from engine.data.formats.lines import file_size
from engine.data.formats.reading import TableReader, get_format, read, recognise_reading
from engine.data.formats.rows import Remarks
from engine.errors import BadFile, MissingColumn, StudioError
from engine.files.atomic_write import sha256
from engine.phrases import join, phrase
from engine.progress import ProgressCallback

NO_CLEANING = Cleaning()
SOURCE_FILE = "file"  # column with the file of a row, if a split has several
Sources = Table[Source, Path | Sequence[Path]]
"""The file or files of each split, or of all splits."""


OWN_FORMATS = frozenset({"json", "jsonl", "squad"})  # never read as another format


@dataclass(frozen=True)
class FileImport:
    """Files to import, and how to read, split and clean them."""

    sources: Sources
    reading: Reading
    mapping: Mapping
    split: Split
    cleaning: Cleaning = NO_CLEANING


def list_files(sources: Sources) -> list[tuple[Source, Path]]:
    """Each file with its split, in reading order."""
    return [
        (source, path)
        for source, paths in sources.items()
        for path in ((paths,) if isinstance(paths, Path) else paths)
    ]


def collect(
    request: FileImport,
    folder: Path,
    progress: ProgressCallback | None,
    cancelled: Callable[[], bool] | None,
) -> SourceRows:
    """Read all sources into `folder`/rows.parquet: their columns as text, and `_line`.

    The first source defines the columns. Others are matched by name, or by position if one of the
    two files has no header. If a split has several files, another column has the file name. Labels
    are stripped of white space. If some turn out to mean that there is none, and the cleaning does
    not say which do, everything is read again without them.
    """
    collected, coded = _collect(request, folder, progress, cancelled)
    uncoded, none = list[str](), list[str]()
    if not request.cleaning.no_label:
        uncoded = find_uncoded(coded)
        none = [*dict.fromkeys((*uncoded, *find_placeholders(collected.labels)))]
    if none:
        cleaning = request.cleaning.model_copy(update={"no_label": tuple(none)})
        collected, _ = _collect(replace(request, cleaning=cleaning), folder, progress, cancelled)
    if uncoded:
        note = phrase(
            "{names} in the columns of coders means that a row was not coded: {n:,} cell(s).",
            names=join(", ", [f"“{cell[:20]}”" for cell in uncoded]),
            n=sum(coded[cell] for cell in uncoded),
        )
        collected.notes.append(note)
    collected.notes.extend(filter(None, [mixture_note(coded)]))
    return collected


def _collect(
    request: FileImport,
    folder: Path,
    progress: ProgressCallback | None,
    cancelled: Callable[[], bool] | None,
) -> tuple[SourceRows, Counter[str]]:
    """The rows, and the cells of coders who gave labels to them, with their numbers."""
    mapping, split, cleaning = request.mapping, request.split, request.cleaning
    opened = _open_sources(request, progress, cancelled)
    columns = opened[0].table.columns
    agreed = mapping.agreed_column(columns)
    for name in (*mapping.columns, split.column, *cleaning.skip_empty):
        if name is not None and name not in (*columns, agreed):
            raise MissingColumn(name, list(columns))
    names = _file_names(list_files(request.sources), columns)
    all_columns = (*columns, *([SOURCE_FILE] if names else []), *([agreed] if agreed else []))
    notes: list[str] = []
    spans, coded = SpanCounts(), Counter[str]()
    with RowWriter(folder / "rows.parquet", all_columns, mapping, split, cleaning) as writer:
        for file in opened:
            indices, matched = _column_indices(columns, file, request)
            remarks, rows = Remarks(), len(writer)
            tags = _tag_columns(columns, file, indices, mapping, cancelled)
            if any(column.are_spans for column in tags.values()):
                spans.overlaps = spans.overlaps or 0  # also if the coders agree on none
            writer.begin(file.path, remarks)
            is_split = file.source in ("validation", "test")
            split_index = SPLITS.index(file.source) if is_split else UNASSIGNED
            extra = (names[file.path],) if names else ()
            for loaded in file.table.batches():
                batch = _reorder(loaded, indices, extra)
                codes = _codes(batch, columns, mapping)
                if mapping.tags is None:
                    coded.update(cell.strip() for cells in codes for cell in cells)
                if agreed is not None:
                    label = _agreed(codes, mapping, cleaning)
                    batch = Batch(batch.lines, [*batch.cells, label])
                mask = writer.filled_rows(batch, remarks)
                if mask is not None:
                    loaded, batch = loaded.filter(mask), batch.filter(mask)
                for name, column in tags.items():
                    batch.cells[columns.index(name)] = column.convert(loaded, remarks)
                if agreed is not None and tags:
                    batch.cells[-1] = _agreed(_codes(batch, columns, mapping), mapping, cleaning)
                if mapping.tags is not None:
                    for cell in batch.cells[all_columns.index(mapping.tags)].to_pylist():
                        spans.add(cell or "")
                writer.append(batch, split_index)
            writer.count()
            if len(writer) == rows:
                raise _no_rows_error(file.path, cleaning.skip_empty if remarks.sentences() else ())
            prefix = f"{file.path.name}: " if len(opened) > 1 else ""
            converted = dict.fromkeys(column.note for column in tags.values() if column.note)
            file_notes = (*matched, *file.table.notes, *converted, *remarks.sentences())
            notes += [prefix + note for note in file_notes]
    digests = {str(file.path.absolute()): source_digest(file.path) for file in opened}
    for file in opened:
        if file_state(file.path) != file.state:
            raise BadFile(
                file.path, phrase("the file changed while it was read."), phrase("Import it again.")
            )
    return writer.finish(digests, notes, spans), coded


def _file_names(files: list[tuple[Source, Path]], columns: tuple[str, ...]) -> dict[Path, str]:
    """Names for the `file` column, with the folder unless they are unique; empty if not needed."""
    has_several = max(Counter(source for source, _ in files).values()) > 1
    if not has_several or SOURCE_FILE in columns:
        return {}
    count = Counter(path.name for _, path in files)
    return {
        path: path.name if count[path.name] == 1 else f"{path.parent.name}/{path.name}"
        for _, path in files
    }


def _no_rows_error(path: Path, required: Sequence[str]) -> BadFile:
    """Error for a file without rows, or in which the required columns are never all filled."""
    if required:
        names = ", ".join(f"“{name[:60]}”" for name in required)
        return BadFile(
            path,
            phrase("every row has an empty cell in {names}, so no row is left.", names=names),
            phrase("Fill these cells, or choose another file."),
        )
    return BadFile(path, phrase("the file has no rows."), phrase("Choose a file with rows."))


class _OpenSource(NamedTuple):
    """An open source; its rows are not read yet."""

    source: Source
    path: Path
    state: tuple[int, int]
    reading: Reading
    table: TableReader


def _open_sources(
    request: FileImport, progress: ProgressCallback | None, cancelled: Callable[[], bool] | None
) -> list[_OpenSource]:
    files = list_files(request.sources)
    if not files:
        raise StudioError("No files to import.", "Choose at least one file.")
    sizes = [folder_size(path) if path.is_dir() else file_size(path) for _, path in files]
    done, opened = 0, list[_OpenSource]()
    for source, path in files:
        state = file_state(path)
        file_reading = similar_reading(path, request.reading) if opened else request.reading
        callback = None if progress is None else _offset_progress(progress, done, sum(sizes))
        opened.append(
            _OpenSource(
                *(source, path, state, file_reading),
                read(path, file_reading, callback, cancelled).join(request.mapping),
            )
        )
        done += state[0]
    return opened


def _offset_progress(progress: ProgressCallback, done: int, total: int) -> ProgressCallback:
    return lambda position, _: progress(done + position, total)


def source_digest(source: Path) -> str:
    """SHA-256 of a file, or of all texts of a folder; for part of a file, of the whole file."""
    return folder_sha256(source) if source.is_dir() else sha256(file_on_disk(source))


def file_state(path: Path) -> tuple[int, int]:
    """Size in bytes and modification time of a source."""
    if path.is_dir():
        return folder_state(path)
    status = file_on_disk(path).stat()
    return status.st_size, status.st_mtime_ns


def similar_reading(path: Path, reading: Reading) -> Reading:
    """Adapt the reading of the first source to the encoding and header of another one.

    Binary files, tables and JSON are read as recognised.
    """
    recognised, _ = recognise_reading(path)
    if not (get_format(recognised).is_text and get_format(reading).is_text):
        return recognised
    if recognised.format != reading.format and not OWN_FORMATS.isdisjoint(
        (recognised.format, reading.format)
    ):
        return recognised
    header = recognised.header if recognised.format == reading.format else reading.header
    return reading.model_copy(update={"encoding": recognised.encoding, "header": header})


def _column_indices(
    columns: tuple[str, ...], file: _OpenSource, request: FileImport
) -> tuple[list[int | None], list[str]]:
    """Index of each column in this source, None if it is missing, and notes."""
    file_columns = file.table.columns
    if columns == file_columns:
        return list(range(len(columns))), []
    notes: list[str] = []
    if request.reading.header and file.reading.header:
        indices = [file_columns.index(n) if n in file_columns else None for n in columns]
        extra = [name for name in file_columns if name not in columns]
        if extra:
            names = ", ".join(f"“{name}”" for name in extra[:5])
            notes.append(
                phrase(
                    "Columns that the first file does not have were skipped: {names}.", names=names
                )
            )
    else:
        indices = [index if index < len(file_columns) else None for index in range(len(columns))]
        notes.append(
            phrase("Columns were matched by position, because only one of the files has a header.")
        )
    for name, index in zip(columns, indices, strict=True):
        if index is None and name in request.mapping.columns:
            raise BadFile(
                file.path,
                phrase("it has no column “{name}”.", name=name),
                phrase(
                    "Its columns are: {names}. All files need the same columns.",
                    names=", ".join(file_columns[:20]),
                ),
            )
    return indices, notes


def _tag_columns(
    columns: tuple[str, ...],
    file: _OpenSource,
    indices: list[int | None],
    mapping: Mapping,
    cancelled: Callable[[], bool] | None,
) -> dict[str, TagColumn]:
    """The columns of tags, those of coders included, by name."""
    names = () if mapping.tags is None else (mapping.tags, *mapping.coders)
    tag_columns = {}
    for name in filter(columns.__contains__, names):
        text, tags = (indices[columns.index(column)] for column in (mapping.text, name))
        assert text is not None and tags is not None  # `_column_indices` requires them
        tag_columns[name] = TagColumn(file.path, file.reading, text, tags, cancelled)
    return tag_columns


def _reorder(batch: Batch, indices: list[int | None], extra: tuple[str, ...]) -> Batch:
    """Reorder the cells to the columns of the data set and append `extra`."""
    if indices == list(range(len(batch.cells))) and not extra:
        return batch
    rows = len(batch)
    empty = pa.repeat(pa.scalar("", pa.string()), rows)
    cells = [empty if index is None else batch.cells[index] for index in indices]
    return Batch(
        batch.lines, [*cells, *(pa.repeat(pa.scalar(text, pa.string()), rows) for text in extra)]
    )


def _codes(batch: Batch, columns: tuple[str, ...], mapping: Mapping) -> list[list[str]]:
    """The cells of each coder."""
    coders = (batch.cells[columns.index(name)].to_pylist() for name in mapping.coders)
    return [[cell or "" for cell in column] for column in coders]


def _agreed(codes: list[list[str]], mapping: Mapping, cleaning: Cleaning) -> "pa.Array[Any]":
    """The labels, or the tags, on which the coders of each row agree."""
    agreed = agreed_cells(codes, mapping.tags is not None, cleaning.no_label)
    return pa.array(agreed, pa.string())
