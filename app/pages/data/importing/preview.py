"""Preview of a file, and its first rows as tokens. No widgets."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal

from app import background
from app.widgets.text.tagged import token_spans
from engine.config.dataset import Mapping, Reading
from engine.data.columns.coders import agreed_cells, find_coders
from engine.data.columns.facts import ColumnFacts, describe_columns
from engine.data.columns.joined import joined_columns
from engine.data.columns.mapping import guess_mapping
from engine.data.columns.placeholders import find_placeholders, find_uncoded
from engine.data.columns.tags import Span
from engine.data.columns.text_spans import tagged_words
from engine.data.coverage import scripts_note, unknown_note
from engine.data.formats.reading import FirstRows, find_split_column, preview, read
from engine.data.formats.rows import Row
from engine.data.formats.spans import position_notes
from engine.messages.explore.text import Token
from engine.tokenizers.tokenizer import Tokenizer

EXAMPLES = 5  # tokenized rows
MAPPING_ROWS = 2_000  # rows used to guess the roles of columns
MAPPING_CHARACTERS = 5_000_000
EXAMPLE_LENGTH = 128  # tokens; the default of the training form
# Tokenized characters per text, far more than EXAMPLE_LENGTH tokens need: a word of a million
# letters takes a tokenizer seconds, in which no other thread runs.
EXAMPLE_CHARACTERS = 20_000
MAX_LABEL = 200  # characters


class FilePreview(NamedTuple):
    """Start of a file, as one Reading reads it.

    `columns` are all columns, `table` has the first rows, truncated, `first_rows` a few in full.
    `mapping` has the roles of the columns; `guessed_roles` are guesses.
    """

    reading: Reading
    columns: tuple[str, ...]
    table: FirstRows
    first_rows: list[Row]
    mapping: Mapping | None
    guessed_roles: tuple[str, ...]
    facts: tuple[ColumnFacts, ...] = ()
    split_column: str | None = None  # whose cells are names of splits
    coders: tuple[str, ...] = ()  # columns that seem to hold the labels of several coders
    notes: tuple[str, ...] = ()  # on columns that are not read

    def find_uncoded(self, coders: tuple[str, ...]) -> list[str]:
        """Cells of coders that mean, by the first rows, that a row was not coded."""
        columns = self.table.columns
        places = [columns.index(name) for name in coders if name in columns]
        return find_uncoded({row.cells[n].strip() for row in self.table.rows for n in places})


class Example(NamedTuple):
    """A tokenized row."""

    line: int
    tokens: tuple[Token, ...]
    truncated: bool
    label: str | None
    spans: tuple[Span, ...] = ()  # of the tokens


def preview_file(path: Path, reading: Reading) -> FilePreview:
    """Read the start of a file; raises BadFile with the line that cannot be read."""
    table = read(path, reading)
    rows: list[Row] = []
    characters = 0
    for row in islice(table, MAPPING_ROWS):
        rows.append(row)
        characters += sum(map(len, row.cells))
        if characters > MAPPING_CHARACTERS and len(rows) >= EXAMPLES:
            break
    first_rows, columns, cells = rows[:EXAMPLES], table.columns, [row.cells for row in rows]
    mapping, guessed = guess_mapping(columns, cells)
    facts = describe_columns(columns, cells)
    split_column = find_split_column(columns, cells)
    coders = () if mapping is None else find_coders(columns, cells, mapping)
    return FilePreview(
        *(reading, columns, preview(path, reading), first_rows, mapping, guessed, facts),
        *(split_column, coders, position_notes(columns, cells, mapping is not None)),
    )


def make_examples(file: FilePreview, mapping: Mapping, tokenizer: Tokenizer) -> list[Example]:
    """Tokenize the first rows; keep their labels, “” for those that mean none."""
    examples, none = [], list[str]()
    joined = joined_columns(mapping, file.columns)
    if mapping.label in file.table.columns:
        column = file.table.columns.index(mapping.label)
        none = find_placeholders({row.cells[column].strip() for row in file.table.rows})
    elif mapping.tags is None:
        none = file.find_uncoded(mapping.coders)
    for row in file.first_rows:
        cells = dict(zip(file.columns, row.cells, strict=True))
        cells |= {one.name: one.join([cells[name] for name in one.columns]) for one in joined}
        if (agreed := mapping.agreed_column(file.columns)) is not None:
            coded = [[cells[name]] for name in mapping.coders]
            (cells[agreed],) = agreed_cells(coded, mapping.tags is not None, none)
        text, pair = cells[mapping.text], None if mapping.pair is None else cells[mapping.pair]
        words, tags, _ = tagged_words(text, cells.get(mapping.tags or "", ""))
        is_tagged = bool(tags) and len(words) == len(tags)
        text = " ".join(words) if is_tagged else text
        encoding = tokenizer.encode(
            text[:EXAMPLE_CHARACTERS], pair and pair[:EXAMPLE_CHARACTERS], EXAMPLE_LENGTH
        )
        label = None if mapping.label is None else cells[mapping.label].strip()[:MAX_LABEL]
        label = "" if label in none else label
        tokens = encoding.tokens
        spans = token_spans(words, tags, tokens) if is_tagged else ()
        examples.append(Example(row.line, tokens, encoding.truncated, label, spans))
    return examples


class Coverage(NamedTuple):
    """The scripts of the first rows, and a warning if too many of their tokens are unknown."""

    scripts: str
    warning: str


def describe_coverage(file: FilePreview, mapping: Mapping, tokenizer: Tokenizer) -> Coverage:
    joined = joined_columns(mapping.model_copy(update={"pair": None, "label": None}), file.columns)
    places = joined[0].indices if joined else [file.columns.index(mapping.text)]
    is_shown = max(places) < len(file.table.columns)  # which has only the first of many columns
    rows = file.table.rows if is_shown else file.first_rows
    texts = [" ".join(row.cells[place] for place in places) for row in rows]
    encoded = tokenizer.encode_many(texts, None, max_length=EXAMPLE_LENGTH)
    ids = [token for ids, _ in encoded for token in ids]
    unknown = unknown_note(ids.count(tokenizer.unknown) / max(len(ids), 1))
    return Coverage(scripts_note(texts), unknown)


class ExamplesState(QObject):
    """First rows tokenized by a model.

    Signals:
        changed: `examples` or their `problem`.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model: Path | None = None  # model whose tokenizer is used
        self.examples: list[Example] = []
        self.problem = ""
        self.coverage = Coverage("", "")
        self.unknown = -1  # id of [UNK]
        self._preview: FilePreview | None = None
        self._mapping: Mapping | None = None
        self._tokenizers: dict[Path, Tokenizer] = {}
        self._working = background.LatestJob(self)

    def set_model(self, folder: Path) -> None:
        """Tokenize the examples with the model in this folder."""
        self.model = folder
        self._tokenize()

    def show(self, preview: FilePreview | None, mapping: Mapping | None) -> None:
        """Show the first rows of this file with these columns."""
        self._preview, self._mapping = preview, mapping
        self._tokenize()

    def clear(self) -> None:
        """Cancel and show nothing."""
        self._working.cancel()
        self._preview, self._mapping, self.examples = None, None, []

    def _tokenize(self) -> None:
        self._working.cancel()
        preview, mapping, folder = self._preview, self._mapping, self.model
        if preview is None or mapping is None or folder is None:
            self.examples = []
            self.changed.emit()
            return
        cached = self._tokenizers.get(folder)

        def work() -> tuple[Tokenizer, list[Example], Coverage]:
            tokenizer = cached or Tokenizer.from_folder(folder)
            examples = make_examples(preview, mapping, tokenizer)
            return tokenizer, examples, describe_coverage(preview, mapping, tokenizer)

        def done(result: tuple[Tokenizer, list[Example], Coverage]) -> None:
            self._tokenizers[folder], self.examples, self.coverage = result
            self.unknown, self.problem = result[0].unknown, ""
            self.changed.emit()

        self._working.run(work, done, self._on_failed)

    def _on_failed(self, error: BaseException) -> None:
        self.examples, self.problem = [], background.as_studio_error(error).problem
        self.changed.emit()
