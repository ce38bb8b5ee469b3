"""Tagged text: a sentence in each line, with the tag of each word.

| line | written by |
| --- | --- |
| The/DT dog/NN barks/VBZ | taggers of Stanford, NLTK and the Penn Treebank; also with “_” |
| Ann&#124;NNP&#124;I-PER sings&#124;VBZ&#124;O | C&C |
| Ann&#124;&#124;&#124;B-PER sings&#124;&#124;&#124;O | sequence labellers |
| Ann sings &#124;&#124;&#124; B-PER O | words, then their tags |
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from engine.config.dataset import Reading
from engine.data.columns.tags import are_spans
from engine.data.columns.words import join_words
from engine.data.formats.conll import MAX_TAGS, MIN_AGREEMENT, MIN_TAGGED
from engine.data.formats.lines import Lines
from engine.data.formats.rows import EMPTY_LINE, Content, Format, Remarks, Row, numbered_columns
from engine.errors import BadFile
from engine.phrases import phrase

SIGNS = ("|||", "/", "_", "|")  # between a word and its tag
HALVES = "|||"  # also between words and tags
SAMPLE_LINES, FIRST_LINES = 2_000, 20
MIN_WORDS = 2  # of a line, in the mean
MAX_TAG_CHARACTERS = 12
ADVICE = phrase("Each line needs a tag for each word, as in the other lines.")

Words = list[list[str]]  # of a line: the cells of each word, its tag last


class _Layout(NamedTuple):
    """The sign between the cells of a word, their number, and whether tags follow all words."""

    sign: str
    width: int
    in_halves: bool

    def split(self, line: str) -> Words | None:
        """The words of a line with their tags; None if it has another layout."""
        if self.in_halves:
            halves = [half.split() for half in line.split(self.sign)]
            fits = len(halves) == 2 and len(halves[0]) == len(halves[1]) > 0
            return [[*pair] for pair in zip(*halves, strict=True)] if fits else None
        words = [word.rsplit(self.sign, self.width - 1) for word in line.split()]
        if not all(len(cells) == self.width and all(cells) for cells in words):
            return None
        for cells in words:
            cells[0] = cells[0].replace(f"\\{self.sign}", self.sign)  # as the Penn Treebank writes
        return words


def open_tagged_text(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """A row for each line: “text” has its words, “tags” their tags.

    Raises BadFile with the first line that has another layout than most.
    """
    layout = _find_layout([*islice(lines.look_ahead(), SAMPLE_LINES)])
    if layout is None:
        problem = phrase("its lines are not words with tags.")
        advice = phrase(
            "Choose “Plain text” as the format, or a file with lines such as a/DT b/NN."
        )
        raise BadFile(lines.path, problem, advice)
    note = phrase("Each word was read with its tag, which is behind “{sign}”.", sign=layout.sign)
    remarks.add_note(note)
    others = numbered_columns(layout.width)[1:-1]
    return Content(("text", *others, "tags"), _rows(lines, layout, remarks))


def _rows(lines: Lines, layout: _Layout, remarks: Remarks) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            remarks.count(EMPTY_LINE, number)
            continue
        words = layout.split(line)
        if words is None:
            problem = phrase("this line has words without a tag behind “{sign}”.", sign=layout.sign)
            raise BadFile(lines.path, problem, ADVICE, line=number)
        yield Row(number, tuple(join_words(cells) for cells in zip(*words, strict=True)))


def _find_layout(lines: list[str]) -> _Layout | None:
    """The layout that almost all lines have, with tags that are spans or few."""
    filled = [line for line in lines if line.strip()]
    first = filled[:FIRST_LINES]
    for layout in (_Layout(HALVES, 2, True), *(_Layout(sign, 2, False) for sign in SIGNS)):
        if layout.sign == "|":
            counts = Counter(word.count("|") + 1 for line in first for word in line.split())
            layout = layout._replace(width=max(2, counts.most_common(1)[0][0] if counts else 2))
        if not any(map(layout.split, first)):
            continue
        read = [words for words in map(layout.split, filled) if words is not None]
        if len(read) >= MIN_AGREEMENT * len(filled) and _are_tagged(read):
            return layout
    return None


def _are_tagged(lines: list[Words]) -> bool:
    tags = Counter(cells[-1] for words in lines for cells in words)
    if tags.total() < MIN_WORDS * len(lines):
        return False
    if are_spans(tags) and {*tags} > {"O"}:
        return True
    are_few = tags.total() >= MIN_TAGGED and len(tags) <= MAX_TAGS * tags.total()
    are_names = all(tag == tag.upper() and len(tag) <= MAX_TAG_CHARACTERS for tag in tags)
    have_letters = 2 * sum(tag[0].isalpha() for tag in tags) > len(tags)
    return are_few and are_names and have_letters


def guess_tagged_text(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    layout = _find_layout(lines[:SAMPLE_LINES])
    return None if layout is None else Reading(format=TAGGED_TEXT.name)


TAGGED_TEXT = Format(
    "tagged-text", phrase("Tagged text"), (".pos", ".txt"), open_tagged_text, guess_tagged_text
)
