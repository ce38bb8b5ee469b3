"""PubTator: biomedical abstracts as “ID|t|title” and “ID|a|abstract”, and a line for each span."""

import re
from collections.abc import Iterator

from engine.config.dataset import Reading
from engine.data.columns.answers import find_nearest
from engine.data.columns.text_spans import TextSpan
from engine.data.formats.annotated import AnnotatedText, make_line_format
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.data.formats.strict_json import without_surrogates
from engine.errors import BadFile
from engine.phrases import phrase

PART = re.compile(r"([^|\t]+)\|([at])\|(.*)")
MIN_FIELDS = 5  # of a span: id, start, end, words, type; then its concept


def guess(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise a title, and the abstract of the same id."""
    first = [line.rstrip("\r\n") for line in lines if line.strip()][:2]
    parts = [PART.fullmatch(line) for line in first]
    match parts:
        case [re.Match() as title, re.Match() as abstract]:
            is_article = (title[2], abstract[2]) == ("t", "a") and title[1] == abstract[1]
            return Reading(format=PUBTATOR.name) if is_article else None
    return None


def read_lines(lines: Lines, remarks: Remarks) -> Iterator[tuple[int, AnnotatedText]]:
    """Read an article with its spans. Raises BadFile with the line of a span that is not in it."""
    entry, start = AnnotatedText(""), 0
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if part := PART.fullmatch(text):
            if part[2] == "t" and start:
                yield start, entry
            if part[2] == "t" or not start:
                entry, start = AnnotatedText("", []), number
                entry.extra["id"] = part[1]
            entry.text += f"\n{part[3]}" if entry.text else without_surrogates(part[3])
        elif len(cells := text.split("\t")) >= MIN_FIELDS and all(map(str.isdecimal, cells[1:3])):
            entry.spans = [*(entry.spans or ()), _span(cells, entry.text, lines, number, remarks)]
        elif text.strip():
            remarks.count(phrase("Line without a span, such as a relation, left out"), number)
    if start:
        yield start, entry


def _span(cells: list[str], text: str, lines: Lines, number: int, remarks: Remarks) -> TextSpan:
    first, last, words, label = int(cells[1]), int(cells[2]), cells[3], cells[4]
    if text[first:last].split() == words.split():
        return TextSpan(first, last, label)
    position = find_nearest(text, words, first) if words else None
    if position is None:
        raise BadFile(
            lines.path,
            phrase(
                "the text does not contain “{words}” at {start}.", words=words[:60], start=cells[1]
            ),
            phrase("Correct or delete this line."),
            line=number,
        )
    remarks.count(phrase("Span not at its position; its nearest occurrence was used"), number)
    return TextSpan(position, position + len(words), label)


PUBTATOR = make_line_format("pubtator", "PubTator", (".pubtator",), guess, read_lines)
