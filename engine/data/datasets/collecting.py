"""Read the sources of a data set once, into one file of rows with the same columns."""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Table
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.atomic_write import sha256
from engine.data.columns.label_sets import yes_or_no
from engine.data.columns.names import split_named
from engine.data.columns.tag_column import TagColumn, counted
from engine.data.formats.folder import sha256_of_folder, size_of_folder, state_of_folder
from engine.data.formats.lines import size_of
from engine.data.formats.reading import TableReader, read, recognise_reading
from engine.data.formats.rows import Remarks, Row
from engine.errors import BadFile, MissingColumn, StudioError
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.spec.dataset import SPLITS, Cleaning, Mapping, Reading, Source, Split

GROUP_ROWS = 10_000
GROUP_CELLS = 1_000_000
GROUP_CHARACTERS = 32_000_000
MAX_SPAN_TYPES = 1_000  # of spans; whoever has more took something else for tags
FREE = -1  # a row whose split is still to be drawn
FIRST_ROWS = 2_000  # by which columns are told apart
NO_CLEANING = Cleaning()
Sources = Table[Source, Path | Sequence[Path]]
"""The file, or the files, with the rows of a split, or with all."""


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
    passages: NDArray[np.int32] | None = None  # [rows], equal where the passage of a question is


def files_of(sources: Sources) -> list[tuple[Source, Path]]:
    """Each file with what it is, in the order in which they are read."""
    return [
        (source, path)
        for source, paths in sources.items()
        for path in ((paths,) if isinstance(paths, Path) else paths)
    ]


def collect(
    sources: Sources,
    reading: Reading,
    mapping: Mapping,
    split: Split,
    folder: Path,
    progress: ProgressCallback | None,
    cancelled: Callable[[], bool] | None,
    cleaning: Cleaning = NO_CLEANING,
) -> Collected:
    """Read all sources into `folder`/rows.parquet: their columns as text, and `_line`.

    Columns are those of the first source. Others are matched by name, or by position where one of
    the two files has no names. White space around labels is left out.
    """
    files = files_of(sources)
    if not files:
        raise StudioError(phrase("No files to import."), phrase("Choose at least one file."))
    opened = _open(files, reading, progress, cancelled)
    columns = opened[0].table.columns
    _require(columns, mapping, split, cleaning)
    notes: list[str] = []
    with _RowWriter(folder / "rows.parquet", columns, mapping, split, cleaning) as writer:
        for one in opened:
            places, matched = _places(columns, one, reading, mapping)
            remarks, rows = Remarks(), len(writer)
            tags = _tag_column(columns, one, places, mapping, cancelled)
            writer.add(one, places, tags, remarks)
            if len(writer) == rows:
                raise _without_rows(one.path, bool(remarks.sentences() and cleaning.skip_empty))
            about = f"{one.path.name}: " if len(files) > 1 else ""
            converted = (tags.note,) if tags is not None and tags.note else ()
            told = (*matched, *one.table.notes, *converted, *remarks.sentences())
            notes += [about + note for note in told]
    digests = {str(one.path.absolute()): digest_of(one.path) for one in opened}
    for one in opened:
        if state_of(one.path) != one.state:
            raise BadFile(
                one.path,
                phrase("the file changed while it was read."),
                phrase("Import it again."),
            )
    return writer.collected(digests, notes)


def _without_rows(path: Path, skipped: bool) -> BadFile:
    if skipped:
        return BadFile(
            path, phrase("no row is left."), phrase("Skip fewer rows, or choose another file.")
        )
    return BadFile(path, phrase("the file has no rows."), phrase("Choose a file with rows."))


class _Opened(NamedTuple):
    """A source whose rows are still to be read."""

    source: Source
    path: Path
    state: tuple[int, int]
    reading: Reading
    table: TableReader


def _open(
    files: list[tuple[Source, Path]],
    reading: Reading,
    progress: ProgressCallback | None,
    cancelled: Callable[[], bool] | None,
) -> list[_Opened]:
    total, done = sum(_size(path) for _, path in files), 0
    opened: list[_Opened] = []
    for source, path in files:
        state = state_of(path)
        own = reading_alike(path, reading) if opened else reading
        told = None if progress is None else _shifted(progress, done, total)
        opened.append(_Opened(source, path, state, own, read(path, own, told, cancelled)))
        done += state[0]
    return opened


def digest_of(source: Path) -> str:
    """SHA-256 of a file, or of all texts in a folder."""
    return sha256_of_folder(source) if source.is_dir() else sha256(source)


def _size(path: Path) -> int:
    return size_of_folder(path) if path.is_dir() else size_of(path)


def state_of(path: Path) -> tuple[int, int]:
    """Bytes of a source, and when it was changed."""
    if path.is_dir():
        return state_of_folder(path)
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _require(columns: tuple[str, ...], mapping: Mapping, split: Split, cleaning: Cleaning) -> None:
    for name in (*mapping.columns, split.column, *cleaning.skip_empty):
        if name is not None and name not in columns:
            raise MissingColumn(name, list(columns))


def _shifted(progress: ProgressCallback, done: int, total: int) -> ProgressCallback:
    return lambda here, _: progress(done + here, total)


def reading_alike(path: Path, reading: Reading) -> Reading:
    """The reading of a further source: its own encoding and header, all else as in the first."""
    own, _ = recognise_reading(path)
    header = own.header if own.format == reading.format else reading.header
    return reading.model_copy(update={"encoding": own.encoding, "header": header})


def _places(
    columns: tuple[str, ...], one: _Opened, reading: Reading, mapping: Mapping
) -> tuple[list[int | None], list[str]]:
    """Where each column stands in this source, None where it does not, and what was noticed."""
    own = one.table.columns
    if columns == own:
        return list(range(len(columns))), []
    notes: list[str] = []
    used = set(mapping.columns)
    if reading.header and one.reading.header:
        places = [own.index(name) if name in own else None for name in columns]
        further = [name for name in own if name not in columns]
        if further:
            names = ", ".join(f"“{name}”" for name in further[:5])
            notes.append(
                phrase(
                    "Columns that the first file does not have were skipped: {names}.", names=names
                )
            )
    else:
        places = [number if number < len(own) else None for number in range(len(columns))]
        notes.append(
            phrase("Columns were matched by position, because only one of the files has a header.")
        )
    for name, place in zip(columns, places, strict=True):
        if place is None and name in used:
            raise BadFile(
                one.path,
                phrase("it has no column “{name}”.", name=name),
                phrase(
                    "Its columns are: {own}. All files need the same columns.",
                    own=", ".join(own[:20]),
                ),
            )
    return places, notes


def _tag_column(
    columns: tuple[str, ...],
    one: _Opened,
    places: list[int | None],
    mapping: Mapping,
    cancelled: Callable[[], bool] | None,
) -> TagColumn | None:
    """The reader of the tags of a source, where they are used."""
    if mapping.tags is None:
        return None
    text, tags = (places[columns.index(name)] for name in (mapping.text, mapping.tags))
    assert text is not None and tags is not None  # `_places` refuses a source without them
    return TagColumn(one.path, one.reading, text, tags, cancelled)


class _RowWriter:
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
        self._spans = Counter[str]()
        self._flags = {name: columns.index(name) for name in mapping.flags}
        self._with_flag = Counter[str](dict.fromkeys(mapping.flags, 0))
        self._split_column = None if split.column is None else columns.index(split.column)
        self._group_rows = max(1, min(GROUP_ROWS, GROUP_CELLS // len(columns)))
        self._passage = columns.index(mapping.pair) if mapping.pair and mapping.answers else None
        self._passage_numbers, self._passages = array("i"), dict[str, int]()
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
        self._file.close()

    def __len__(self) -> int:
        return len(self._given)

    def add(
        self, one: _Opened, places: list[int | None], tags: TagColumn | None, remarks: Remarks
    ) -> None:
        """Append the rows of a source."""
        straight = places == list(range(len(one.table.columns)))
        given = SPLITS.index(one.source) if one.source in ("validation", "test") else FREE
        for line, cells in one.table:
            row = cells if straight else tuple("" if p is None else cells[p] for p in places)
            if self._lacks(row, remarks, line):
                continue
            if tags is not None and self._tags is not None:
                cell, found = tags.read(Row(line, cells), remarks)
                row = (*row[: self._tags], cell, *row[self._tags + 1 :])
                self._spans.update(counted(found, tags.scheme))
            if self._label is not None:
                row = self._with_plain_label(row, remarks, line)
                label = row[self._label]
                self._label_numbers.append(self._numbers.setdefault(label, len(self._numbers)))
            self._note_empty(row, remarks, line)
            for name, place in self._flags.items():
                self._with_flag[name] += self._says_yes(row[place], name, one.path, line)
            if self._passage is not None:
                number = self._passages.setdefault(row[self._passage], len(self._passages))
                self._passage_numbers.append(number)
            here = self._split_column
            self._given.append(given if here is None else self._split_of(row[here], one.path, line))
            self._lines.append(line)
            self._rows.append(row)
            if len(self._first) < FIRST_ROWS:
                self._first.append(row)
            self._characters += sum(map(len, row))
            if len(self._rows) >= self._group_rows or self._characters >= GROUP_CHARACTERS:
                self._flush()
        self._flush()

    def _lacks(self, row: tuple[str, ...], remarks: Remarks, line: int) -> bool:
        """Whether a row is skipped, since a column is empty that must be filled."""
        for name, place in self._filled.items():
            if not row[place].strip():
                remarks.saw(phrase("Row without “{name}” skipped", name=name[:60]), line)
                return True
        return False

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
                remarks.saw(phrase("Row without text"), line)
            elif place == self._label:
                remarks.saw(phrase("Row without label"), line)

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

    def collected(self, digests: dict[str, str], notes: list[str]) -> Collected:
        numbers = np.array(self._label_numbers, dtype=np.int32)
        counts = np.bincount(numbers, minlength=len(self._numbers))
        return Collected(
            columns=self.columns,
            rows=self._path,
            given=np.array(self._given, dtype=np.int8),
            label_numbers=numbers,
            labels={name: int(count) for name, count in zip(self._numbers, counts, strict=True)},
            flags=dict(self._with_flag),
            spans=dict(self._spans.most_common(MAX_SPAN_TYPES)),
            sha256=digests,
            notes=notes,
            empty={name: np.array(rows, dtype=np.int32) for name, rows in self._empty.items()},
            first=self._first,
            passages=(
                None if self._passage is None else np.array(self._passage_numbers, dtype=np.int32)
            ),
        )
