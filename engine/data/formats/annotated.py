"""Common reader for exports of annotation tools: one JSON object per text, with spans or labels.

A tool is a file with a `Tool`. Texts with spans become words with BIO tags for token
classification; labels get a column.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.config.dataset import Reading
from engine.data.columns.label_sets import join_labels
from engine.data.columns.text_spans import TextSpan, tag_spans
from engine.data.columns.words import join_words
from engine.data.formats.json_parser import parse_lines
from engine.data.formats.lines import Lines
from engine.data.formats.rows import MAX_COLUMNS, Content, Format, Remarks, Row, unique_names
from engine.data.formats.strict_json import read_document, without_surrogates
from engine.errors import BadFile
from engine.phrases import phrase

LOOKED_AT = 50  # objects used to recognise a tool
ADVICE = phrase("Export it from the tool again as JSON or JSONL.")
FURTHER = (str, int, float)  # types of values that become columns

Object = dict[str, Any]


class NotOfTool(ValueError):
    """An object that its tool does not write; `problem` is the end of a sentence."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass
class Annotated:
    """A text and its annotations; None for what was not annotated.

    `words` are word positions of the tool, `further` other values, and `remarks` phrases without a
    full stop.
    """

    text: str
    spans: list[TextSpan] | None = None
    labels: list[str] | None = None
    words: list[tuple[int, int]] | None = None
    tags: list[str] | None = None  # of the words, if the tool writes tags without positions
    further: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


class Tool(NamedTuple):
    """Recognition and reading of the objects of a tool.

    `knows` gets the first objects of a file. `read` returns the texts of an object, or why it is
    skipped; it raises NotOfTool.
    """

    knows: Callable[[list[Any]], bool]
    read: Callable[[Any], list[Annotated] | str]


def annotated_format(name: str, title: str, tool: Tool) -> Format:
    def guess(lines: list[str], _suffix: str, _whole: bool) -> Reading | None:
        first = first_values(lines)
        return Reading(format=name) if first and tool.knows(first) else None

    def open_export(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
        return _content(tool, lines, remarks)

    return Format(name, title, (".json", ".jsonl"), open_export, guess)


def _content(tool: Tool, lines: Lines, remarks: Remarks) -> Content:
    """Columns that the texts of a file need, and their rows.

    If they have labels and tags, the words of the tags are a column of their own.
    """
    has_tags = has_labels = False
    further: dict[str, None] = {}
    for _, entry in _read(tool, lines, Remarks(), lines.glance):
        has_tags |= entry.spans is not None or entry.tags is not None
        has_labels |= entry.labels is not None
        if len(further) < MAX_COLUMNS:
            further.update(dict.fromkeys(entry.further))
    has_words = has_tags and has_labels
    needed = {"text": True, "label": has_labels, "words": has_words, "tags": has_tags}
    columns = [name for name, is_needed in needed.items() if is_needed]

    def rows() -> Iterator[Row]:
        for number, entry in _read(tool, lines, remarks, False):
            words, tags, lost = entry.text, join_words(entry.tags or ()), list[str]()
            if has_tags and entry.tags is None:
                tagged = tag_spans(entry.text, entry.spans or (), entry.words)
                words, tags, lost = join_words(tagged.words), join_words(tagged.tags), tagged.lost
            cells = {
                "text": words if has_tags and not has_words else entry.text,
                "label": join_labels(entry.labels or ()),
                "words": words,
                "tags": tags,
            }
            for remark in (*entry.remarks, *lost):
                remarks.saw(remark, number)
            row = [*map(cells.__getitem__, columns), *(entry.further.get(n, "") for n in further)]
            yield Row(number, tuple(map(without_surrogates, row)))

    return Content(unique_names((*columns, *further), lines, remarks), rows())


def _read(
    tool: Tool, lines: Lines, remarks: Remarks, only_first: bool
) -> Iterator[tuple[int, Annotated]]:
    full = (line for line in lines.ahead() if line.strip())
    values = (
        parse_lines(lines.path, lines, remarks)
        if _is_line(next(full, "")) and next(full, None) is not None
        else enumerate(values_in(read_document(lines, ADVICE)), start=1)
    )
    for number, value in values:
        try:
            result = tool.read(value)
        except NotOfTool as error:
            raise BadFile(lines.path, error.problem, ADVICE, line=number) from error
        if isinstance(result, str):
            remarks.saw(result, number)
            continue
        for entry in result:
            yield number, entry
        if only_first and number > LOOKED_AT * 100:
            return


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


def values_in(document: Any) -> list[Any]:
    """Objects of a document: a list, or a list under “annotations”."""
    if is_pair(document):
        return [document]
    if isinstance(document, dict) and isinstance(document.get("annotations"), list):
        inside = document["annotations"]
        return inside if all(map(is_pair, inside)) else [document]
    return document if isinstance(document, list) else [document]


def first_values(lines: list[str]) -> list[Any]:
    """First objects of a file, from its first lines; none if it is not JSON."""
    full = [line for line in lines if line.strip()]
    if not full or not full[0].lstrip().startswith(("{", "[")):
        return []
    if len(full) > 1 and _is_line(full[0]):
        try:
            return [json.loads(line) for line in full[:LOOKED_AT] if _is_line(line)]
        except (ValueError, RecursionError):
            return []
    text = "".join(full).strip()
    try:
        return values_in(json.loads(text))[:LOOKED_AT]
    except (ValueError, RecursionError):
        return _first_in_list(text)


def _first_in_list(text: str) -> list[Any]:
    """First values of a truncated list."""
    decoder, position = json.JSONDecoder(), 1
    values: list[Any] = []
    while len(values) < LOOKED_AT and text.startswith("["):
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values


# ── what the tools ask of an object ──────────────────────────────────────────────────────────────


def text_in(item: Object, *keys: str) -> str:
    """The text under the first of these keys that is present. Raises NotOfTool."""
    for key in keys:
        if isinstance(text := item.get(key), str):
            return text
    raise NotOfTool(phrase("this has no text under “{key}”.", key=keys[0]))


def span_in(item: Any, start: str, end: str, label: str) -> TextSpan:
    """A span from an object. Raises NotOfTool."""
    values = (item.get(start), item.get(end), item.get(label)) if isinstance(item, dict) else ()
    return _span(values)


def span_of_list(item: Any) -> TextSpan:
    """A span from [start, end, label]. Raises NotOfTool."""
    return _span(tuple(item[:3]) if isinstance(item, list) else ())


def _span(values: tuple[Any, ...]) -> TextSpan:
    match values:
        case (int(start), int(end), str(label)):
            return TextSpan(start, end, label)
        case _:
            raise NotOfTool(
                phrase("a span in it has no start, end and label: {found}.", found=str(values)[:60])
            )


def list_in(item: Object, key: str) -> list[Any]:
    """The list under a key, or an empty one. Raises NotOfTool."""
    value = item.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise NotOfTool(phrase("“{key}” is not a list.", key=key))
    return value


def words_in(text: str, tokens: list[Any]) -> list[tuple[int, int]] | None:
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


def further_in(item: Object, known: tuple[str, ...]) -> dict[str, str]:
    """Plain values under other keys."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in item.items()
        if key not in known and isinstance(value, FURTHER) and not key.startswith("_")
    }
