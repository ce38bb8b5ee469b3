"""Common reader for exports of annotation tools: one JSON object per text, with spans or labels.

Each tool is a module with a `Tool`. Texts with spans get a column of these by characters; if the
tool has split the texts into words and no span overlaps another, words with BIO tags instead.
Labels get a column.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from engine.config.dataset import Reading
from engine.data.columns.label_sets import join_labels
from engine.data.columns.text_spans import (
    TextSpan,
    flat_spans,
    format_spans,
    tag_spans,
    valid_spans,
)
from engine.data.columns.words import join_words
from engine.data.formats.json_document import table_items
from engine.data.formats.json_parser import parse_lines
from engine.data.formats.lines import Lines
from engine.data.formats.rows import MAX_COLUMNS, Content, Format, Remarks, Row, unique_names
from engine.data.formats.strict_json import read_document, without_surrogates
from engine.errors import BadFile
from engine.phrases import phrase

SAMPLE_OBJECTS = 50  # to recognise a tool
FIRST_TEXTS = 5_000  # to find the columns, if only the first rows are needed
ADVICE = phrase("Export it from the tool again as JSON or JSONL.")
LISTS = ("rasa_nlu_data", "common_examples", "examples")  # keys of documents of Rasa and LightTag
FIRST_LIST = re.compile(rf'^\[|"({"|".join(LISTS)})"\s*:\s*\[')
EXTRA_TYPES = (str, int, float)  # types of values that become columns

Object = dict[str, Any]


class BadObject(ValueError):
    """An object that the tool does not write; `problem` completes a sentence."""

    def __init__(self, problem: str, advice: str = ADVICE) -> None:
        super().__init__(problem)
        self.problem, self.advice = problem, advice


@dataclass
class AnnotatedText:
    """A text and its annotations, None if missing.

    `labels` are by the name of their question, `words` are word positions of the tool, `extra`
    other values, and `remarks` phrases without a full stop. A text that was not annotated has no
    tags, and one that was has at least “O”.
    """

    text: str
    spans: list[TextSpan] | None = None
    labels: dict[str, list[str]] = field(default_factory=dict)
    words: list[tuple[int, int]] | None = None
    tags: list[str] | None = None  # of the words, if the tool writes tags without positions
    extra: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    is_annotated: bool = True


Entries = Iterator[tuple[int, AnnotatedText]]  # with line numbers


class Tool(NamedTuple):
    """Recognition and reading of the objects of a tool.

    `recognise` gets the first objects of a file. `read` returns the texts of an object, or why it
    is skipped; it raises BadObject.
    """

    recognise: Callable[[list[Any]], bool]
    read: Callable[[Any], list[AnnotatedText] | str]


def make_format(
    name: str, title: str, tool: Tool, suffixes: tuple[str, ...] = (".json", ".jsonl")
) -> Format:
    def guess(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
        first = first_values(lines)
        return Reading(format=name) if first and tool.recognise(first) else None

    def open_export(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
        return annotated_content(lambda seen, _: _read(tool, lines, seen), lines, remarks)

    return Format(name, title, suffixes, open_export, guess)


def make_line_format(
    name: str,
    title: str,
    suffixes: tuple[str, ...],
    guess: Callable[[list[str], str, bool], Reading | None],
    read: Callable[[Lines, Remarks], Entries],
) -> Format:
    """A format that is read line by line."""

    def open_export(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
        def entries(seen: Remarks, is_first: bool) -> Entries:
            return read(lines.without_progress() if is_first else lines, seen)

        return annotated_content(entries, lines, remarks)

    return Format(name, title, suffixes, open_export, guess)


def annotated_content(
    read: Callable[[Remarks, bool], Entries], lines: Lines, remarks: Remarks
) -> Content:
    """Columns that the texts of a file need, and rows.

    If they have labels and tags, the words of the tags are a separate column. Labels of several
    questions are columns named like these.
    """
    has_tags, has_words, overlap = False, False, False
    questions, extra = dict[str, None](), dict[str, None]()
    first = islice(read(Remarks(), True), FIRST_TEXTS if lines.head_only else None)
    for number, (_, entry) in enumerate(first):
        has_tags |= entry.spans is not None or entry.tags is not None
        has_words |= entry.words is not None or entry.tags is not None
        if number < FIRST_TEXTS:  # the same if only the first rows are needed
            overlap |= len({*(entry.spans or ())}) > len(flat_spans(entry.spans or ()))
        questions.update(dict.fromkeys(entry.labels))
        if len(extra) < MAX_COLUMNS:
            extra.update(dict.fromkeys(entry.extra))
    names = ["label"] if len(questions) == 1 else questions
    if has_tags and (overlap or not has_words):
        marks = ["spans"]
    else:
        marks = ["words", "tags"] if has_tags and questions else ["tags"] if has_tags else []
    columns = ["text", *names, *marks]

    def rows() -> Iterator[Row]:
        for number, entry in read(remarks, False):
            words, tags, lost = entry.text, join_words(entry.tags or ()), list[str]()
            if marks == ["spans"]:
                valid = valid_spans(entry.text, entry.spans or (), lost)
                tags = format_spans(valid) if entry.is_annotated else ""
            elif has_tags and entry.tags is None:
                tagged = tag_spans(entry.text, entry.spans or (), entry.words)
                words = join_words(tagged.words)
                tags = join_words(tagged.tags) if entry.is_annotated else ""
                lost = tagged.remarks
            for remark in (*entry.remarks, *lost):
                remarks.count(remark, number)
            row = [words if marks == ["tags"] else entry.text]
            row += [join_labels(entry.labels.get(name, ())) for name in questions]
            row += [words if mark == "words" else tags for mark in marks]
            row += [entry.extra.get(name, "") for name in extra]
            yield Row(number, tuple(map(without_surrogates, row)))

    return Content(unique_names((*columns, *extra), lines, remarks), rows())


def _read(tool: Tool, lines: Lines, remarks: Remarks) -> Entries:
    return read_values(tool, lines.path, read_objects(lines, remarks), remarks)


def read_objects(lines: Lines, remarks: Remarks) -> Iterable[tuple[int, Any]]:
    """The objects of a file, one in each line or all in one value, with their numbers.

    Raises BadFile if the file is not JSON.
    """
    filled = (line for line in lines.look_ahead(split=True) if line.strip())
    if _is_line(next(filled, "")) and next(filled, None) is not None:
        return parse_lines(lines.path, lines, remarks)
    return enumerate(get_objects(read_document(lines, ADVICE)), start=1)


def read_values(
    tool: Tool, path: Path, values: Iterable[tuple[int, Any]], remarks: Remarks
) -> Entries:
    """The texts of numbered objects. Raises BadFile with the number."""
    for number, value in values:
        try:
            result = tool.read(value)
        except BadObject as error:
            raise BadFile(path, error.problem, error.advice, line=number) from error
        if isinstance(result, str):
            remarks.count(result, number)
            continue
        for entry in result:
            yield number, entry


def _is_line(line: str) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) or is_pair(value)


def is_pair(value: Any) -> bool:
    """True for a text with its annotations, as in spaCy's examples."""
    is_list = isinstance(value, list) and len(value) == 2
    return is_list and isinstance(value[0], str) and isinstance(value[1], dict)


def get_objects(document: Any) -> list[Any]:
    """Objects of a document: a list, or a list under “annotations” or another known key."""
    if is_pair(document):
        return [document]
    if isinstance(document, dict) and isinstance(document.get("annotations"), list):
        examples = document["annotations"]
        return examples if all(map(is_pair, examples)) else [document]
    keys = document.keys() if isinstance(document, dict) else ()
    if key := next(filter(keys.__contains__, LISTS), ""):
        return get_objects(document[key])
    if not isinstance(document, list):
        values = document.values() if isinstance(document, dict) else ()
        is_table = bool(values) and all(isinstance(value, (list, dict)) for value in values)
        return (table_items(document) if is_table else None) or [document]
    is_nested = bool(document) and all(isinstance(item, list) and item for item in document)
    if is_nested and all(isinstance(one, dict) for item in document for one in item):
        return [one for item in document for one in item]  # a list for each file
    return document


def first_values(lines: list[str]) -> list[Any]:
    """Parse the first objects of a file from its first lines; none if they are not JSON."""
    filled = [line for line in lines if line.strip()]
    if not filled or not filled[0].lstrip().startswith(("{", "[")):
        return []
    if len(filled) > 1 and _is_line(filled[0]):
        try:
            return [json.loads(line) for line in filled[:SAMPLE_OBJECTS] if _is_line(line)]
        except (ValueError, RecursionError):
            return []
    text = "".join(filled).strip()
    if text.startswith("["):
        return get_objects(_first_in_list(text))[:SAMPLE_OBJECTS]
    try:
        return get_objects(json.loads(text))[:SAMPLE_OBJECTS]
    except (ValueError, RecursionError):
        return _first_in_list(text)


def _first_in_list(text: str) -> list[Any]:
    decoder, start = json.JSONDecoder(), FIRST_LIST.search(text)
    position = start.end() if start else len(text)
    values: list[Any] = []
    while len(values) < SAMPLE_OBJECTS:
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values


# ── helpers of the tools ─────────────────────────────────────────────────────────────────────────


def get_text(item: Object, *keys: str) -> str:
    """The text under the first of these keys that is present. Raises BadObject."""
    for key in keys:
        if isinstance(text := item.get(key), str):
            return text
    raise BadObject(phrase("this has no text under “{key}”.", key=keys[0]))


def get_span(item: Any, start: str, end: str, label: str) -> TextSpan:
    """A span from an object. Raises BadObject."""
    values = (item.get(start), item.get(end), item.get(label)) if isinstance(item, dict) else ()
    return _span(values)


def parse_span(item: Any) -> TextSpan:
    """A span from [start, end, label]. Raises BadObject."""
    return _span(tuple(item[:3]) if isinstance(item, list) else ())


def _span(values: tuple[Any, ...]) -> TextSpan:
    match values:
        case (int(start), int(end), str(label)):
            return TextSpan(start, end, label)
        case _:
            raise BadObject(
                phrase("a span in it has no start, end and label: {found}.", found=str(values)[:60])
            )


def get_list(item: Object, key: str) -> list[Any]:
    """The list under a key, or an empty one. Raises BadObject."""
    value = item.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadObject(phrase("“{key}” is not a list.", key=key))
    return value


def get_words(text: str, tokens: list[Any]) -> list[tuple[int, int]] | None:
    """Positions of the tokens that are not white space; None if one has no position."""
    words = []
    for token in tokens:
        match token:
            case {"start": int(start), "end": int(end)}:
                if text[start:end].strip():
                    words.append((start, end))
            case _:
                return None
    return words


def extra_values(item: Object, known: tuple[str, ...]) -> dict[str, str]:
    """The plain values under other keys."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in item.items()
        if key not in known and isinstance(value, EXTRA_TYPES) and not key.startswith("_")
    }
