"""What the import page shows of a file, read off the window's thread."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from engine.atomic_write import disk_errors_for
from engine.data.columns.mapping import guess_mapping
from engine.data.datasets.collecting import Collected, Source, collect
from engine.data.datasets.importing import deal_rows
from engine.data.formats.lines import Progress
from engine.data.formats.reading import Preview, Row, preview, read
from engine.messages.answers import Token
from engine.spec.dataset import SPLITS, Mapping, Reading, Split, SplitName
from engine.tokenizers.tokenizer import Tokenizer

EXAMPLES = 5
GUESSED_BY = 2_000  # rows by which columns are told apart
GUESSED_CHARACTERS = 5_000_000
LONGEST_INPUT = 128  # pieces; what the training form proposes
SHOWN_LABEL = 200  # characters


class Look(NamedTuple):
    """The beginning of a file under one reading.

    `columns` are all of them, `preview` has the first rows cut for a table, `first` a few whole.
    `mapping` is what the columns seem to mean.
    """

    columns: tuple[str, ...]
    preview: Preview
    first: list[Row]
    mapping: Mapping | None
    note: str


class Example(NamedTuple):
    """One row as the network gets it."""

    line: int
    tokens: tuple[Token, ...]
    cut: bool
    label: str | None


def look_at(path: Path, reading: Reading) -> Look:
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
    mapping, note = guess_mapping(table.columns, [row.cells for row in rows])
    return Look(table.columns, preview(path, reading), rows[:EXAMPLES], mapping, note)


def examples(look: Look, mapping: Mapping, tokenizer: Tokenizer) -> list[Example]:
    """The first rows as word pieces with their segments and labels."""
    found = []
    for row in look.first:
        cells = dict(zip(look.columns, row.cells, strict=True))
        pair = None if mapping.pair is None else cells[mapping.pair]
        encoding = tokenizer.encode(cells[mapping.text], pair, LONGEST_INPUT)
        label = None if mapping.label is None else cells[mapping.label][:SHOWN_LABEL]
        found.append(Example(row.line, encoding.tokens, encoding.cut, label))
    return found


def count(
    sources: dict[Source, Path],
    reading: Reading,
    mapping: Mapping,
    split_column: str | None,
    scratch: Path,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> Collected:
    """Read every row of every file as the import will, and keep nothing but the counts.

    Raises:
        BadFile: with the line of the first row that cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    split = Split(column=split_column)
    with disk_errors_for(scratch), TemporaryDirectory(dir=scratch, prefix="check-") as folder:
        return collect(sources, reading, mapping, split, Path(folder), progress, cancelled)


def part_sizes(
    collected: Collected, sources: dict[Source, Path], split: Split
) -> dict[SplitName, int]:
    """How many rows each part will have."""
    parts, _ = deal_rows(collected, sources, split)
    counts = np.bincount(parts, minlength=len(SPLITS))
    return {part: int(count) for part, count in zip(SPLITS, counts, strict=True)}
