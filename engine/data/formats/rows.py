"""What all formats of data share: rows, and remarks on what was noticed while reading them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from engine.config.dataset import Reading
from engine.data.formats.archives import ABOUT_DATA
from engine.data.formats.batches import Batch
from engine.data.formats.lines import Lines
from engine.errors import BadFile
from engine.phrases import phrase
from engine.visible import concise

MAX_COLUMNS = 10_000
RESERVED = ("_line", "_split")  # names of our own columns


class Row(NamedTuple):
    """One example. `line` is the first line, counted from 1, that it stands in."""

    line: int
    cells: tuple[str, ...]


class Remarks:
    """Counts what is noticed in rows, so that nothing is dropped or changed in silence.

    What was seen is told in the order of the lines in which it was seen first.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self._said: list[str] = []

    def say(self, sentence: str) -> None:
        """A remark on the whole."""
        self._said.append(sentence)

    def saw(self, what: str, line: int, times: int = 1) -> None:
        """Something in a row, or in so many of which this is the first."""
        count, first = self._seen.get(what, (0, line))
        self._seen[what] = count + times, first

    def sentences(self) -> tuple[str, ...]:
        counted = (
            phrase(
                "{what}: {count} times, first in line {line}.",
                what=what,
                count=count,
                line=line,
            )
            if count > 1
            else phrase("{what}: once, in line {line}.", what=what, line=line)
            for what, (count, line) in sorted(self._seen.items(), key=lambda one: one[1][1])
        )
        return tuple(concise(sentence)[0] for sentence in (*self._said, *counted))


class Content(NamedTuple):
    """The columns of a file, and its rows, which are read as they are asked for.

    A format that can read many rows at once gives them by columns, too: of `rows` and `batches`
    only one is taken.
    """

    columns: tuple[str, ...]
    rows: Iterator[Row]
    batches: Iterator[Batch] | None = None


def _no_text(_lines: list[str], _suffix: str, _whole: bool) -> Reading | None:
    """For a format whose files are no text."""
    return None


class Format(NamedTuple):
    """How a kind of file is called, recognised and read.

    `open` gives the content of the lines of a file. `guess` gives the reading under which the first
    lines of a file make sense, or None; it gets these lines, the suffix of the file, and whether
    they are all. A file that is no text is recognised by `recognise`, which gets its path and its
    first bytes; of its lines, `open` then takes the path and tells how far it is.

    A format of folders has `open_folder`, which gets the folder, the encoding, the remarks, whom to
    tell the progress, whether to stop, and whether only the first rows are wanted.

    `options` are the fields of a reading that make a difference. Where a character stands between
    the cells of a row, `delimiter` is the usual one.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    open: Callable[[Lines, Reading, Remarks], Content]
    guess: Callable[[list[str], str, bool], Reading | None] = _no_text
    recognise: Callable[[Path, bytes], Reading | None] | None = None
    open_folder: "Callable[..., Content] | None" = None
    options: tuple[str, ...] = ("encoding",)
    delimiter: str = ""
    has_line_per_word: bool = False

    @property
    def is_text(self) -> bool:
        return self.recognise is None


def unique_names(names: Iterable[str], lines: Lines, remarks: Remarks) -> tuple[str, ...]:
    """Column names as they stand, but each once, none empty, and none that we use ourselves."""
    given = list(names)
    if len(given) > MAX_COLUMNS:
        raise BadFile(
            lines.path,
            phrase(
                "it has {count:,} columns, more than the {columns:,} that can be read.",
                count=len(given),
                columns=MAX_COLUMNS,
            ),
            phrase("Check the delimiter, or keep only the columns you need."),
            line=1,
        )
    taken = set(RESERVED)
    found = []
    for number, name in enumerate(given, start=1):
        plain = name.strip() or f"column {number}"
        unique, copy = plain, 1
        while unique in taken:
            copy += 1
            unique = f"{plain} ({copy})"
        if name.strip() and unique != plain:
            remarks.saw(
                phrase(
                    "Column renamed to “{unique}”, because its name was already used", unique=unique
                ),
                1,
            )
        taken.add(unique)
        found.append(unique)
    return tuple(found)


def numbered_columns(count: int) -> tuple[str, ...]:
    """Names for the columns of a file that does not name them."""
    return tuple(f"column {number}" for number in range(1, count + 1))


def is_about_data(file_name: str) -> bool:
    """Whether a file only tells about data, such as a README."""
    return file_name.lower().startswith(ABOUT_DATA)
