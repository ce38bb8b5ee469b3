"""What the import page shows of a file, read off the window's thread."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from engine.config.dataset import Mapping, Reading
from engine.data.columns.mapping import guess_mapping
from engine.data.formats.reading import FirstRows, preview, read
from engine.data.formats.rows import Row
from engine.messages.explore.text import Token
from engine.tokenizers.tokenizer import Tokenizer

EXAMPLES = 5
GUESSED_BY = 2_000  # rows by which columns are told apart
GUESSED_CHARACTERS = 5_000_000
EXAMPLE_LENGTH = 128  # tokens; the default of the training form
EXAMPLE_CHARACTERS = 20_000  # of a text, far more than so many tokens; a tokenizer takes seconds
# for a word of millions of letters, and lets no other thread run meanwhile
SHOWN_LABEL = 200  # characters


class FilePreview(NamedTuple):
    """The beginning of a file under one reading.

    `columns` are all of them, `table` has the first rows cut for a table, `first` a few whole.
    `mapping` is what the columns seem to mean; those in `guessed` are no more than that.
    """

    columns: tuple[str, ...]
    table: FirstRows
    first: list[Row]
    mapping: Mapping | None
    guessed: tuple[str, ...]


class Example(NamedTuple):
    """One row as the network gets it."""

    line: int
    tokens: tuple[Token, ...]
    cut: bool
    label: str | None


def preview_file(path: Path, reading: Reading) -> FilePreview:
    """Read the beginning of a file.

    Raises BadFile with the line where it cannot be read so.
    """
    table = read(path, reading)
    rows: list[Row] = []
    characters = 0
    for row in islice(table, GUESSED_BY):
        rows.append(row)
        characters += sum(map(len, row.cells))
        if characters > GUESSED_CHARACTERS and len(rows) >= EXAMPLES:
            break
    mapping, guessed = guess_mapping(table.columns, [row.cells for row in rows])
    return FilePreview(table.columns, preview(path, reading), rows[:EXAMPLES], mapping, guessed)


def examples_of(shown: FilePreview, mapping: Mapping, tokenizer: Tokenizer) -> list[Example]:
    """The first rows as tokens with their segments and labels."""
    found = []
    for row in shown.first:
        cells = dict(zip(shown.columns, row.cells, strict=True))
        text, pair = cells[mapping.text], None if mapping.pair is None else cells[mapping.pair]
        encoding = tokenizer.encode(
            text[:EXAMPLE_CHARACTERS], pair and pair[:EXAMPLE_CHARACTERS], EXAMPLE_LENGTH
        )
        label = None if mapping.label is None else cells[mapping.label].strip()[:SHOWN_LABEL]
        found.append(Example(row.line, encoding.tokens, encoding.cut, label))
    return found
