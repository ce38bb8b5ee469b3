"""CoNLL: one tagged word per line, and an empty line after each sentence."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from engine.config.dataset import Reading
from engine.data.columns.tags import are_spans, tag_type
from engine.data.columns.words import join_words
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row, numbered_columns
from engine.errors import BadFile
from engine.phrases import phrase

DOCUMENT = "-DOCSTART-"
MAX_SENTENCE_WORDS = 100_000
CONLL_U = (
    *("id", "text", "lemma", "upos", "xpos"),
    *("feats", "head", "deprel", "deps", "misc"),
)  # columns of CoNLL-U, with “text” for its form
CONLL_2012 = (
    *("document", "part", "number", "text", "pos", "parse", "lemma"),
    *("frameset", "sense", "speaker", "tags"),
)  # and a column for each predicate of the sentence, and coreference
BEGIN_2012, TOP_LINES = "#begin document", 20
# ids of multiword tokens (“3-4”) and empty nodes (“3.1”)
NOT_A_WORD = re.compile(r"\d+[-.]\d+")
EMPTY = "_"  # an empty cell, as in CoNLL-U
LAYOUT_ROWS = 2_000  # to name the columns
MIN_AGREEMENT = 0.95  # of rows with the same number of cells, and of cells with valid tags
MIN_TAGGED, MIN_WORDS = 20, 3  # words of a file, and of a sentence, whose tags have no marks
MAX_TAGS = 0.25  # distinct ones, of the words
NO_BREAK_SPACE = "\u00a0"
ADVICE = phrase(
    "Each line needs a word and its tag, and each sentence must end with an empty line."
)


def open_conll(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """A row for each sentence, with the cells of each column joined.

    Columns are separated by tabs if the first row has one, else by spaces. The first column
    that does not only hold numbers is “text”, and the last is “tags”, or the one before it, if the
    last has nested spans, as in GermEval 2014; CoNLL-U and CoNLL-2012 have their own names.
    Document starts are skipped, and so are remarks: lines that start with “#” and have other
    columns than the words.

    Raises BadFile with the line if a row does not have as many cells as the first.
    """
    layout = _Layout(lines.look_ahead())
    return Content(layout.columns, _sentences(lines, layout, remarks))


class _Layout:
    """Column separator and names."""

    def __init__(self, lines: Iterable[str]) -> None:
        lines = iter(lines)
        top = list(islice(lines, TOP_LINES))
        self.is_conll_2012 = any(line.startswith(BEGIN_2012) for line in top)
        filled = (line for line in chain(top, lines) if not _is_blank_or_comment(line))
        first = next(filled, "")
        self.has_tabs = "\t" in first.rstrip()
        rows = [self.cells(line) for line in (first, *islice(filled, LAYOUT_ROWS)) if line]
        self.width = len(rows[0]) if rows else 1
        self.is_conll_2012 &= self.width == len(CONLL_2012)
        same_width = [row for row in rows if len(row) == self.width]
        numbered = bool(rows) and re.match(r"\d+", rows[0][0]) is not None
        self.is_conll_u = self.has_tabs and numbered and self.width == len(CONLL_U)
        names = list(CONLL_U if self.is_conll_u else numbered_columns(self.width))
        if self.is_conll_2012:
            names = list(CONLL_2012)
        elif not self.is_conll_u:
            is_counter = [all(r[n].isdecimal() for r in same_width) for n in range(self.width)]
            word = next((n for n, counts in enumerate(is_counter[:-1]) if not counts), 0)
            names[_tag_column(same_width, is_counter[0])], names[word] = "tags", "text"
        self.columns, self.word_column = tuple(names), names.index("text")
        self.tags = frozenset(row[names.index("tags")] for row in same_width if "tags" in names)

    def cells(self, line: str) -> list[str]:
        """Split a row into cells, without trailing empty ones."""
        if self.has_tabs:
            cells = [cell.strip() for cell in line.rstrip().split("\t")]
        else:
            cells = re.split(r"[ \t]+", line.strip(" \t\r\n"))
        return cells[: len(CONLL_2012)] if self.is_conll_2012 else cells

    def is_remark(self, line: str, is_inside: bool) -> bool:
        """True for a line that starts with “#” and has other columns than the words."""
        cells = self.cells(line)
        if not line.startswith("#"):
            return False
        if len(cells) != self.width or self.width == 1:
            is_row = len(cells) > 1 if self.has_tabs else self.width == 1 and is_inside
            return not is_row or not line[1:].strip() or line[1].isspace()
        tag = cells[self.columns.index("tags")]
        is_span = are_spans(self.tags) and are_spans({tag})
        return not (is_inside or tag in self.tags or is_span or not self.tags)


def _tag_column(rows: list[list[str]], is_numbered: bool) -> int:
    """Index of the tags from the end: the last column, or the one before its nested spans."""
    if len(rows[0]) < 3:
        return -1
    outer, inner = ({row[n] for row in rows} for n in (-2, -1))
    if not are_spans(outer) or not are_spans(inner | outer):
        return -1
    outer_types, inner_types = ({tag_type(tag) for tag in tags} for tags in (outer, inner))
    return -2 if inner_types <= outer_types and (is_numbered or inner > {"O"}) else -1


def _is_blank_or_comment(line: str) -> bool:
    return not line.strip() or line.startswith(("#", DOCUMENT))


def _sentences(lines: Lines, layout: _Layout, remarks: Remarks) -> Iterator[Row]:
    rows: list[list[str]] = []
    start, entity = 0, ""
    for number, line in enumerate(lines, start=1):
        is_end = not line.strip() or line.startswith(DOCUMENT)
        if is_end and rows:
            yield _sentence_row(rows, start)
            rows = []
        if is_end:
            continue
        cells = layout.cells(line)
        if layout.is_remark(line, bool(rows)):
            remarks.count(phrase("Line starting with “#” skipped as a comment"), number)
        elif layout.is_conll_u and NOT_A_WORD.fullmatch(cells[0]):
            remarks.count(phrase("Row of a multiword token or an empty node skipped"), number)
        elif len(cells) != layout.width:
            count = len(cells)
            problem = phrase(
                "this row has {columns}, but {others} {width}.",
                columns=phrase("one column") if count == 1 else f"{count} columns",
                others=phrase("the first row has")
                if layout.width > 1
                else phrase("the others have"),
                width=layout.width,
            )
            raise BadFile(lines.path, problem, ADVICE, line=number)
        elif not cells[layout.word_column]:
            remarks.count(phrase("Row without a word skipped"), number)
        elif len(rows) >= MAX_SENTENCE_WORDS:
            problem = phrase("this sentence has more than {n:,} words.", n=MAX_SENTENCE_WORDS)
            raise BadFile(lines.path, problem, ADVICE, line=start)
        else:
            start = start if rows else number
            if layout.is_conll_2012:
                cells[-1], entity = _tag_of_bracket(cells[-1], entity if rows else "")
            rows.append([word_cell(cell, number, remarks) for cell in cells])
    if rows:
        yield _sentence_row(rows, start)


def _tag_of_bracket(cell: str, entity: str) -> tuple[str, str]:
    """The BIO tag of “(GPE*”, “*” or “*)”, and the entity that is open behind it."""
    opened = re.search(r"\(([^()*]+)", cell)
    entity = opened[1] if opened else entity
    tag = f"{'B' if opened else 'I'}-{entity}" if entity else "O"
    return tag, "" if ")" in cell else entity


def word_cell(cell: str, line: int, remarks: Remarks) -> str:
    """A cell as one word, with remarks if it is none."""
    if not cell:
        remarks.count(phrase("Empty cell, replaced by “{empty}”", empty=EMPTY), line)
        return EMPTY
    if " " in cell:
        remarks.count(phrase("Word with a space, replaced by a no-break space"), line)
        return cell.replace(" ", NO_BREAK_SPACE)
    return cell


def _sentence_row(rows: list[list[str]], start: int) -> Row:
    return Row(start, tuple(join_words(column) for column in zip(*rows, strict=True)))


def guess_conll(lines: list[str], suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise the suffix, or rows with a tag column and sentences separated by empty lines."""
    reading = Reading(format=CONLL.name)
    if suffix in CONLL.suffixes:
        return reading
    filled = [number for number, line in enumerate(lines) if line.strip()]
    has_gap = bool(filled) and filled[-1] - filled[0] + 1 > len(filled)
    if not has_gap:
        return None
    layout = _Layout(lines)
    rows = [layout.cells(line) for line in lines if not _is_blank_or_comment(line)]
    same_width = [row for row in rows if len(row) == layout.width]
    if layout.width < 2 or len(same_width) < MIN_AGREEMENT * len(rows):
        return None
    frequent = [_frequent_values(column) for column in zip(*same_width, strict=True)][1:]
    gaps = sum(not line.strip() for line in lines)
    are_few = len(frequent[-1]) <= MAX_TAGS * len(rows) and MIN_WORDS * gaps <= len(rows)
    are_few = are_few and not are_spans({row[layout.word_column] for row in same_width})
    are_few = are_few and (layout.has_tabs or all(map(str.isupper, frequent[-1])))
    are_tags = are_few and len(rows) >= MIN_TAGGED and all(map(are_words, same_width))
    return reading if layout.is_conll_2012 or any(map(are_spans, frequent)) or are_tags else None


def are_words(cells: list[str]) -> bool:
    """True for words without spaces, none of which is empty."""
    return all(cells) and not any(" " in cell for cell in cells)


def _frequent_values(column: tuple[str, ...]) -> set[str]:
    """The values of a column, without rare values that may be mistakes."""
    counts = Counter(column)
    values, budget = set(counts), (1 - MIN_AGREEMENT) * len(column)
    for cell, count in sorted(counts.items(), key=lambda item: item[1]):
        budget -= count
        if budget < 0 or are_spans({cell, "B-x"}):
            break
        values.discard(cell)
    return values


CONLL = Format(
    "conll",
    "CoNLL",
    (".conll", ".conllu", ".bio", ".iob", ".iob2", ".bioes", ".annotated"),
    open_conll,
    guess_conll,
    has_line_per_word=True,
)
