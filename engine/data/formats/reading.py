"""Recognise, open and preview data files."""

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Table
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa

from engine.config.dataset import Mapping, Reading
from engine.config.task import TaskSpec, target
from engine.data.columns.coders import find_coders
from engine.data.columns.fit import mapping_for
from engine.data.columns.joined import JoinedColumn, columns_of_model, joined_columns
from engine.data.columns.mapping import guess_mapping
from engine.data.columns.names import split_from_name
from engine.data.formats import FORMATS
from engine.data.formats.archives import locate, logical_name
from engine.data.formats.batches import Batch, rows_to_batches
from engine.data.formats.brat import BRAT
from engine.data.formats.choice_rows import join_choice_labels
from engine.data.formats.columnar import ARROW, PARQUET
from engine.data.formats.encodings import first_bytes, recognise_encoding
from engine.data.formats.folder import FOLDER, TextFolder, check_texts, has_annotations
from engine.data.formats.json_document import DOCUMENT, may_have_lists
from engine.data.formats.jsonl import JSONL
from engine.data.formats.lines import MAX_LINE_CHARACTERS, Lines
from engine.data.formats.plain import PLAIN
from engine.data.formats.rows import Content, Format, Remarks, Row
from engine.data.formats.sources import check_no_splits
from engine.data.formats.spans import note_spans, position_notes, read_cells
from engine.data.formats.table import CSV, TSV
from engine.data.formats.unread import check_unread
from engine.data.formats.word_rows import join_sentences
from engine.data.formats.workbook import WORKBOOK
from engine.errors import BadFile, StudioError
from engine.phrases import phrase
from engine.progress import ProgressCallback

MARKUP = re.compile(r"\s*<(\?xml|!doctype|[a-z][\w:.-]*(\s[^<>]*)?/?>)", re.IGNORECASE)
SAMPLE_LINES = 20_000
SAMPLE_CHARACTERS = 2_000_000
MAPPED_ROWS = 2_000  # to recognise columns
MAX_CELL_CHARACTERS = 2_000
LONG_LINE_CHARACTERS = 50_000  # longer lines are shortened for recognition
# characters that neither separate nor quote; from the first one, as a search from each is quadratic
LONG_RUN = re.compile(r'(?<![^\t,;|"\\\r\n])[^\t,;|"\\\r\n]{1000,}')
MAX_PREVIEW_COLUMNS = 200
TABLES = (CSV, TSV, WORKBOOK, PARQUET, ARROW)  # whose cells may hold annotations


class Recognition(NamedTuple):
    """Reading and mapping that were recognised in a file."""

    reading: Reading
    columns: tuple[str, ...]
    mapping: Mapping | None
    notes: tuple[str, ...]
    guessed: tuple[str, ...]  # which of text, label and flags are guesses
    split_column: str | None = None  # whose cells are names of splits
    coders: tuple[str, ...] = ()  # columns that seem to hold the labels of several coders


class FirstRows(NamedTuple):
    """First rows, truncated for display."""

    columns: tuple[str, ...]
    rows: list[Row]
    notes: tuple[str, ...]


class TableReader:
    """Columns of a file, and its rows as a single-use iterator.

    `notes` are complete after the last row.
    """

    def __init__(self, content: Content, remarks: Remarks) -> None:
        self.columns, self._batches, self._remarks = content.columns, content.batches, remarks
        batches = content.batches or ()
        self._rows = content.rows or (Row(*row) for batch in batches for row in batch.rows())

    def join(self, mapping: Mapping) -> Self:
        """Add the joined columns of a mapping; to be called before the first row is read.

        Raises MissingColumn for a template with an unknown column.
        """
        joined = joined_columns(mapping, self.columns)
        if not joined:
            return self
        self.columns = (*self.columns, *(column.name for column in joined))
        if self._batches is None:
            self._rows = (_join_row(row, joined) for row in self._rows)
        else:
            batches = self._batches = (_join_batch(batch, joined) for batch in self._batches)
            self._rows = (Row(*row) for batch in batches for row in batch.rows())
        return self

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def batches(self) -> Iterator[Batch]:
        """The rows in columnar batches."""
        return rows_to_batches(self._rows) if self._batches is None else self._batches

    @property
    def notes(self) -> tuple[str, ...]:
        return self._remarks.sentences()


def _join_row(row: Row, joined: Sequence[JoinedColumn]) -> Row:
    texts = (column.join([row.cells[index] for index in column.indices]) for column in joined)
    return Row(row.line, (*row.cells, *texts))


def _join_batch(batch: Batch, joined: Sequence[JoinedColumn]) -> Batch:
    used = {index: batch.cells[index].to_pylist() for one in joined for index in one.indices}
    texts = (one.join_rows([used[index] for index in one.indices]) for one in joined)
    return Batch(batch.lines, [*batch.cells, *(pa.array(rows, pa.string()) for rows in texts)])


def read(
    path: Path,
    reading: Reading,
    progress: ProgressCallback | None = None,
    cancelled: Callable[[], bool] | None = None,
    head_only: bool = False,
) -> TableReader:
    """Open a file or a folder of texts; `progress` is called with bytes.

    With `head_only`, only the first rows are read, and columns that first appear far below, as in
    JSON Lines, are missed.

    Raises:
        BadFile: with the line, here or while iterating.
        Cancelled: soon after `cancelled()` is true.
    """
    remarks, format_ = Remarks(), get_format(reading)
    if format_.open_folder is not None and path.is_dir():
        check_no_splits(path)
        folder = TextFolder(path, reading.encoding, progress, cancelled, head_only)
        return TableReader(format_.open_folder(folder, remarks), remarks)
    lines = Lines(path, reading.encoding, progress, cancelled, head_only)
    if format_.open is None:
        problem = phrase("this is a file, not a folder of texts.")
        raise BadFile(path, problem, phrase("Choose another format."))
    content = format_.open(lines, reading, remarks)
    if format_ in TABLES:
        content = read_cells(format_.open, content, lines, reading, remarks)
    if "tags" not in content.columns and format_ in (DOCUMENT, JSONL):
        content = note_spans(content, remarks)
    content = join_choice_labels(join_sentences(content, remarks), remarks)
    return TableReader(content, remarks)


def get_format(reading: Reading) -> Format:
    """The format of a reading. Raises StudioError if there is none."""
    if reading.format not in FORMATS:
        raise StudioError(
            "There is no file format “{name}”.",
            "Choose one of {names}.",
            name=reading.format[:60],
            names=", ".join(FORMATS),
        )
    return FORMATS[reading.format]


def recognise(
    path: Path,
    reading: Reading | None = None,
    encoding: str | None = None,
    task: TaskSpec | None = None,
    text: str | None = None,
    model_texts: Table[str, str] | None = None,
) -> Recognition:
    """Recognise encoding, format, delimiter, quotes, header and roles of the columns.

    With `reading`, only the roles are recognised; `encoding` works without it. With `task`, the
    label column suits it if one does. `text` is the text column, if known; `model_texts` are the
    texts that a model was trained on, by role, which are preferred.

    Raises BadFile if the file is not text, or its first rows cannot be read.
    """
    notes: tuple[str, ...] = ()
    if reading is None:
        reading, notes = recognise_reading(path, encoding)
    table = read(path, reading, head_only=True)
    rows = [row.cells for row in islice(table, MAPPED_ROWS)]
    mapping, guessed = guess_mapping(table.columns, rows, text)
    notes = (*notes, *position_notes(table.columns, rows, has_text=mapping is not None))
    if mapping is not None and task is not None:
        mapping = mapping_for(task, mapping, table.columns, rows)
        target_role = target(mapping) or ""
        guessed = tuple(
            "text" if role == "text" else target_role
            for role in guessed
            if role == "text" or target_role in ("label", "flags")  # answers are found by name
        )
    if model_texts:
        mapping, note = columns_of_model(model_texts, mapping, table.columns)
        notes = (*notes, note) if note else notes
        guessed = tuple(role for role in guessed if role != "text")
    split_column = find_split_column(table.columns, rows)
    coders = () if mapping is None else find_coders(table.columns, rows, mapping)
    return Recognition(reading, table.columns, mapping, notes, guessed, split_column, coders)


def find_split_column(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str | None:
    """The first column whose cells are names of at least two splits."""
    cells = zip(columns, zip(*rows, strict=True), strict=False)
    names = ((name, {*column}) for name, column in cells)
    found = (name for name, cell in names if len(cell) > 1 and all(map(split_from_name, cell)))
    return next(found, None)


def recognise_reading(path: Path, encoding: str | None = None) -> tuple[Reading, tuple[str, ...]]:
    """Recognise the reading of a file or folder; returns it with notes.

    The encoding of a folder is UTF-8 or `encoding`; a file in another one is read by its own.
    """
    if path.is_dir():
        check_texts(path)
        format_ = BRAT if has_annotations(path) else FOLDER
        return Reading(format=format_.name, encoding=encoding or "utf-8"), ()
    start = first_bytes(path)
    check_unread(path, start)
    binary = (format_.recognise for format_ in FORMATS.values() if format_.recognise is not None)
    results = (recognise_(path, start) for recognise_ in binary)
    if (result := next(filter(None, results), None)) is not None:
        return result, ()
    file, _, part = locate(path)
    if part and split_from_name(part) is not None:
        chosen, note = (encoding, "") if encoding else recognise_encoding(path)
        if may_have_lists(start.decode(chosen, "replace")):
            return Reading(format=DOCUMENT.name, encoding=chosen), (note,) if note else ()
    if part:
        raise BadFile(
            file,
            phrase("it is a file without parts, so there is no “{name}” in it.", name=part[:100]),
            phrase("Choose the file itself."),
        )
    encoding, note = (encoding, "") if encoding else recognise_encoding(path)
    lines, is_complete = _first_lines(path, encoding)
    if not any(line.strip() for line in lines):
        raise BadFile(
            path, phrase("the file contains only white space."), phrase("Choose a file with text.")
        )
    suffix = Path(logical_name(path)).suffix.lower()
    lines = [
        LONG_RUN.sub(lambda match: f"{match[0][:300]}{match[0][-300:]}", line)
        if len(line) > LONG_LINE_CHARACTERS
        else line
        for line in lines
    ]
    guesses = dict.fromkeys(format_.guess for format_ in FORMATS.values())
    readings = (guess(lines, suffix, is_complete) for guess in guesses)
    reading = next(candidate for candidate in readings if candidate is not None)
    notes = [note] if note else []
    if reading.format == CSV.name and not reading.quoted and any('"' in line for line in lines):
        notes.append(phrase("Double quotes are treated as text, because they are not balanced."))
    first = next(line for line in lines if line.strip())
    if reading.format == PLAIN.name and MARKUP.match(first):
        notes.append(
            phrase("This looks like XML or HTML. Its tags are read as text; remove them first.")
        )
    return reading.model_copy(update={"encoding": encoding}), tuple(notes)


def _first_lines(path: Path, encoding: str) -> tuple[list[str], bool]:
    """Read the first lines; True if they are all lines of the file."""
    lines: list[str] = []
    characters = 0
    for line in Lines(path, encoding).limit_lines(MAX_LINE_CHARACTERS, split=True):
        if len(lines) == SAMPLE_LINES or (len(lines) > 1 and characters > SAMPLE_CHARACTERS):
            return lines, False
        lines.append(line)
        characters += len(line)
    return lines, True


def preview(path: Path, reading: Reading, rows: int = 200) -> FirstRows:
    """First rows of a file, with long cells and many columns truncated."""
    table = read(path, reading, head_only=True)
    shown = [
        Row(row.line, tuple(map(_truncate, row.cells[:MAX_PREVIEW_COLUMNS])))
        for row in islice(table, rows)
    ]
    notes = list(table.notes)
    if len(table.columns) > MAX_PREVIEW_COLUMNS:
        notes.append(
            phrase(
                "Showing only {shown_columns} of {count:,} columns.",
                shown_columns=MAX_PREVIEW_COLUMNS,
                count=len(table.columns),
            )
        )
    return FirstRows(table.columns[:MAX_PREVIEW_COLUMNS], shown, tuple(notes))


def _truncate(cell: str) -> str:
    return cell if len(cell) <= MAX_CELL_CHARACTERS else cell[:MAX_CELL_CHARACTERS] + "…"
