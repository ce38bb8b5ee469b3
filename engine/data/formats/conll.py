"""Tagged words as CoNLL writes them: a word in each line, an empty line after each sentence."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.data.formats.rows import Remarks
from engine.data.lines import Lines
from engine.errors import BadFile

DOCUMENT = "-DOCSTART-"
LONGEST_SENTENCE = 100_000  # words
CONLL_U = 10  # columns
NO_WORD_OF_ITS_OWN = re.compile(r"\d+[-.]\d+")  # ids of CoNLL-U: “3-4” and “3.1”


class Sentence(NamedTuple):
    """Words and their tags, equally many. `line` is that of the first word, counted from 1."""

    line: int
    words: tuple[str, ...]
    tags: tuple[str, ...]


def open_conll(
    lines: Lines, remarks: Remarks, words: int = 0, tags: int = -1
) -> Iterator[Sentence]:
    """The sentences of a file, read as they are asked for.

    Columns are parted by tabs where the first row has one, else by spaces. What stands between
    sentences is left out: documents' beginnings, and lines that begin with “#” and are no row.

    Args:
        lines: of the file.
        remarks: told of all that is left out.
        words: the column of the words, from 0; from -1 downwards counted from the last.
        tags: the column of the tags, in the same way.

    Raises:
        BadFile: with the line, where a row lacks one of the columns or a tag; or as `Lines` does.
        ValueError: where both columns are the same.
    """
    if words == tags:
        raise ValueError("words and tags cannot stand in the same column")
    tabbed, usual = _layout(lines)
    reader = _Rows(lines, words, tags)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield from reader.sentence()
            continue
        cells = _cells(line, tabbed)
        if line.startswith(DOCUMENT):
            yield from reader.sentence()
        elif line.startswith("#") and not reader.words and not _is_row(cells, tabbed, usual):
            remarks.saw("A line that begins with “#” is taken for a comment", number)
        elif words != 0 and len(cells) == CONLL_U and NO_WORD_OF_ITS_OWN.fullmatch(cells[0]):
            remarks.saw("A row for a part of a word, or for several, is left out", number)
        else:
            reader.add(cells, number, remarks)
    yield from reader.sentence()


class _Rows:
    """The rows of the sentence that is being read."""

    def __init__(self, lines: Lines, words: int, tags: int) -> None:
        self._path, self._places = lines.path, (words, tags)
        self.words: list[str] = []
        self._tags: list[str] = []
        self._line = self._width = 0

    def add(self, cells: list[str], line: int, remarks: Remarks) -> None:
        width = len(cells)
        word, tag = (place if place >= 0 else width + place for place in self._places)
        from_end = min(self._places) < 0
        if not self.words:
            self._line, self._width = line, width
        if min(word, tag) < 0 or max(word, tag) >= width or word == tag:
            raise self._bad(line, f"this row has {_columns(width)}, too few for words and tags.")
        if from_end and width != self._width:
            before = f"and those before it in the sentence have {self._width}."
            raise self._bad(line, f"this row has {_columns(width)}, {before}")
        if not cells[tag]:
            raise self._bad(line, "this word has no tag.")
        if not cells[word]:
            remarks.saw("A row has no word; it is left out", line)
            return
        if len(self.words) >= LONGEST_SENTENCE:
            raise self._bad(self._line, f"this sentence has more than {LONGEST_SENTENCE:,} words.")
        self.words.append(cells[word])
        self._tags.append(cells[tag])

    def sentence(self) -> Iterator[Sentence]:
        """What was read, if anything was; the next row begins another."""
        if self.words:
            yield Sentence(self._line, tuple(self.words), tuple(self._tags))
        self.words, self._tags = [], []

    def _bad(self, line: int, problem: str) -> BadFile:
        advice = "Each line must hold a word and its tag, and an empty line must end each sentence."
        return BadFile(self._path, problem, advice, line=line)


def _layout(lines: Lines) -> tuple[bool, int]:
    """Whether tabs part the columns, and how many the first row has."""
    for line in lines.ahead():
        if line.strip() and not line.startswith(("#", DOCUMENT)):
            return "\t" in line.rstrip(), len(_cells(line, "\t" in line.rstrip()))
    return False, 2


def _cells(line: str, tabbed: bool) -> list[str]:
    """The cells of a row; empty ones at its end do not count."""
    if tabbed:
        return [cell.strip() for cell in line.rstrip().split("\t")]
    return re.split(r"[ \t]+", line.strip(" \t\r\n"))


def _is_row(cells: list[str], tabbed: bool, usual: int) -> bool:
    return len(cells) > 1 if tabbed else len(cells) == usual


def _columns(width: int) -> str:
    return "one column" if width == 1 else f"{width} columns"
