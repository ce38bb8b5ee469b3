"""WebAnno TSV 3, as WebAnno and INCEpTION export it: a line for each word, a column for each layer.

One layer of spans is read: named entities, else the first layer of the project's own, else
parts of speech.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.config.dataset import Reading
from engine.data.columns.text_spans import TextSpan
from engine.data.formats.annotated import AnnotatedText, make_line_format
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.errors import BadFile
from engine.phrases import phrase

FORMAT = "#FORMAT=WebAnno TSV 3"
LAYER = re.compile(r"#T_(SP|RL|CH)=([^|]+)\|?(.*)")
FIXED = 3  # columns before those of the layers: number, offsets, word
ENTITIES, WORD_LAYERS = "NamedEntity", ("POS", "Lemma", "MorphologicalFeatures", "Surfaceform")
NO_VALUE = ("_", "")
UNIT = re.compile(r"(.*?)(?:\[(\d+)\])?", re.DOTALL)  # “PER[2]”: the words of a span share a number
ESCAPED = re.compile(r"\\(.)")
WORD = re.compile(r"\d+-\d+(\.\d+)?")


class Column(NamedTuple):
    """A feature of a layer; `place` among the columns of the file."""

    place: int
    layer: str
    feature: str


def guess(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise the first line."""
    first = next((line for line in lines if line.strip()), "")
    return Reading(format=WEBANNO.name) if first.startswith(FORMAT) else None


def read_lines(lines: Lines, remarks: Remarks) -> Iterator[tuple[int, AnnotatedText]]:
    """Read the sentences. Raises BadFile with the line of a row that is not one of the format."""
    columns, chosen, words = list[Column](), None, list[list[str]]()
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        if match := LAYER.fullmatch(line):
            columns += _columns(match, FIXED + len(columns))
        if words and not WORD.match(line):
            yield number - len(words), _sentence(words, chosen)
            words = []
        if not WORD.match(line):
            continue
        if chosen is None:
            chosen = choose_layer(columns, remarks)
        cells = line.split("\t")
        offsets = cells[1].split("-") if len(cells) >= FIXED else []
        if len(offsets) != 2 or not all(map(str.isdecimal, offsets)):
            raise BadFile(
                lines.path,
                phrase("this row has no number, offsets and word."),
                phrase("Export it from the tool again as WebAnno TSV 3."),
                line=number,
            )
        words.append(cells)
    if words:
        yield number - len(words) + 1, _sentence(words, chosen)


def _columns(layer: re.Match[str], index: int) -> list[Column]:
    """Columns of a layer: one for each feature, and one for the other end of a relation."""
    kind, name, features = layer.groups()
    names = features.split("|")
    if kind != "SP":
        names = ["", ""] if kind == "CH" else names
        return [Column(index + n, "", name) for n, name in enumerate(names)]
    short = name.rsplit(".", 1)[-1]
    return [Column(index + n, short, name) for n, name in enumerate(names)]


def choose_layer(columns: list[Column], remarks: Remarks) -> Column | None:
    """The feature that labels the spans; remarks on other layers."""

    def rank(column: Column) -> tuple[bool, bool, bool]:
        own = column.layer not in WORD_LAYERS
        return column.layer != ENTITIES, not own, column.feature not in ("value", "PosValue")

    chosen = min((column for column in columns if column.layer), key=rank, default=None)
    for layer in dict.fromkeys(column.layer for column in columns):
        if layer and chosen and layer != chosen.layer:
            remarks.add_note(phrase("The layer “{layer}” is left out.", layer=layer[:60]))
    return chosen


def _sentence(rows: list[list[str]], column: Column | None) -> AnnotatedText:
    """The words at their distances; parts of words only mark spans."""
    text, word_start, end = "", 0, 0
    words, spans = list[tuple[int, int]](), dict[tuple[str, str], tuple[int, int]]()
    for cells in rows:
        first, last = map(int, cells[1].split("-"))  # in UTF-16
        word = ESCAPED.sub(r"\1", cells[2])
        if "." in cells[0] and words:  # a part of the word above
            skipped = text[words[-1][0] :].encode("utf-16-le")[: 2 * (first - word_start)]
            begin = words[-1][0] + len(skipped.decode("utf-16-le", "ignore"))
        else:
            text += " " if text and first > end else ""
            begin, word_start, end = len(text), first, last
            text += word
            words.append((begin, len(text)))
        place = (begin, begin + len(word))
        cell = cells[column.place] if column and len(cells) > column.place else "_"
        for n, value in enumerate(re.split(r"(?<!\\)\|", cell)):
            if value in NO_VALUE:
                continue
            name, unit = match.groups() if (match := UNIT.fullmatch(value)) else (value, None)
            label = column.layer if column and name == "*" else ESCAPED.sub(r"\1", name)
            key = (label, unit or f"{cells[0]} {n}")
            spans[key] = (min(place[0], spans.get(key, place)[0]), place[1])
    found = [TextSpan(start, stop, label) for (label, _), (start, stop) in spans.items()]
    return AnnotatedText(text, found if column else None, words=words)


WEBANNO = make_line_format("webanno", "WebAnno TSV", (".tsv",), guess, read_lines)
