"""Rows, remarks and the `Format` type that all formats share."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from engine.config.dataset import Reading
from engine.data.formats.archives import DOCUMENTATION
from engine.data.formats.batches import Batch
from engine.data.formats.lines import Lines
from engine.errors import BadFile
from engine.phrases import phrase
from engine.visible import concise

MAX_COLUMNS = 10_000
EMPTY_LINE = phrase("Empty line skipped")
RESERVED = ("_line", "_split")  # columns that an import adds


class Row(NamedTuple):
    """One example. `line` is its first line in the file, from 1."""

    line: int
    cells: tuple[str, ...]


class Remarks:
    """Counts what is skipped or changed while reading, in the order of first occurrence."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int]] = {}
        self._notes: list[str] = []

    def add_note(self, sentence: str) -> None:
        """Add a remark on the whole file."""
        self._notes.append(sentence)

    def count(self, remark: str, line: int, times: int = 1) -> None:
        """Count something in rows, first seen in `line`."""
        count, first = self._counts.get(remark, (0, line))
        self._counts[remark] = count + times, first

    def sentences(self) -> tuple[str, ...]:
        counted = (
            phrase(
                "{what}: {count} times, first in line {line}.", what=remark, count=count, line=line
            )
            if count > 1
            else phrase("{what}: once, in line {line}.", what=remark, line=line)
            for remark, (count, line) in sorted(self._counts.items(), key=lambda item: item[1][1])
        )
        return tuple(concise(sentence)[0] for sentence in (*self._notes, *counted))


class Content(NamedTuple):
    """Columns of a file, and its rows: read lazily one by one, in batches, or either way."""

    columns: tuple[str, ...]
    rows: Iterator[Row] | None
    batches: Iterator[Batch] | None = None


class Format(NamedTuple):
    """Name, recognition and reading of a file format.

    `open` gives the content of the lines of a file. `guess` gets the first lines of a file, its
    suffix, and whether they are all; it returns a reading, or None if they do not fit. For binary
    files, `recognise` gets the path and the first bytes instead, and `open` uses only the path and
    the progress of the lines.

    A format of folders has `open_folder` instead of `open`, called with a `TextFolder`.

    `options` are the fields of a reading that apply. `delimiter` is the default delimiter, if any.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    open: Callable[[Lines, Reading, Remarks], Content] | None = None
    guess: Callable[[list[str], str, bool], Reading | None] = lambda *_: None
    recognise: Callable[[Path, bytes], Reading | None] | None = None
    open_folder: Callable[[Any, Remarks], Content] | None = None
    options: tuple[str, ...] = ("encoding",)
    delimiter: str = ""
    has_line_per_word: bool = False

    @property
    def is_text(self) -> bool:
        return self.recognise is None


def unique_names(names: Iterable[str], lines: Lines, remarks: Remarks) -> tuple[str, ...]:
    """Make column names unique, non-empty and different from `RESERVED`."""
    original = list(names)
    if len(original) > MAX_COLUMNS:
        raise BadFile(
            lines.path,
            phrase(
                "it has {count:,} columns, more than the {columns:,} that can be read.",
                count=len(original),
                columns=MAX_COLUMNS,
            ),
            phrase("Check the delimiter, or keep only the columns you need."),
            line=1,
        )
    used = set(RESERVED)
    columns = []
    for number, name in enumerate(original, start=1):
        plain = name.strip() or f"column {number}"
        unique, copy = plain, 1
        while unique in used:
            copy += 1
            unique = f"{plain} ({copy})"
        if name.strip() and unique != plain:
            remarks.count(
                phrase(
                    "Column renamed to “{unique}”, because its name was already used", unique=unique
                ),
                1,
            )
        used.add(unique)
        columns.append(unique)
    return tuple(columns)


def numbered_columns(count: int) -> tuple[str, ...]:
    """Names for the columns of a file without a header."""
    return tuple(f"column {number}" for number in range(1, count + 1))


def is_documentation(file_name: str) -> bool:
    """True for documentation files such as a README."""
    return file_name.lower().startswith(DOCUMENTATION)
