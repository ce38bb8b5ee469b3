"""Texts with spans that no tool is known for, and tables with annotations in their cells.

Label Studio and Argilla write CSV and Parquet with lists of spans or answers in a column, and data
sets of the hub have such columns.
"""

import json
from collections.abc import Callable, Sequence
from itertools import accumulate, islice
from typing import Any

from engine.config.dataset import Reading
from engine.data.columns.lists import parse_list
from engine.data.columns.mapping import TEXTS, are_positions
from engine.data.columns.text_spans import TextSpan
from engine.data.formats.annotated import (
    SAMPLE_OBJECTS,
    AnnotatedText,
    BadObject,
    Entries,
    Object,
    Tool,
    annotated_content,
    extra_values,
    get_list,
    make_format,
    read_values,
)
from engine.data.formats.argilla import TOOL as ARGILLA
from engine.data.formats.label_studio import TOOL as LABEL_STUDIO
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Remarks, Row
from engine.data.formats.word_rows import look_ahead
from engine.phrases import phrase

ENDS = (
    *(("start", "end"), ("start_offset", "end_offset"), ("startOffset", "endOffset")),
    *(("start_char", "end_char"), ("begin", "end")),
)
LABELS = (
    *(
        "className",
        "label",
        "tag",
        "type",
        "entity_type",
        "entity_group",
        "entity",
        "category",
        "class",
    ),
    "displayName",
)
TEXT_KEYS = (*TEXTS, "textContent", "contents")
WORDS = ("text", "word", "words", "value", "mention", "surface")  # of a span
MIN_WHOLE = 0.8  # of the spans begin and end at words; positions of words do not
Open = Callable[[Lines, Reading, Remarks], Content]


def recognise(items: list[Any]) -> bool:
    """Recognise a text and one list of spans that are in it; or words and spans of words."""
    if all(map(_are_words, items)) or all(map(_is_document, items)):
        return True
    if not all(isinstance(item, dict) and _text_key(item) for item in items):
        return False
    keys = {key for item in items for key, value in item.items() if value and _spans(value)}
    keys = {key for key in keys if all(_spans(item.get(key)) is not None for item in items)}
    found = [
        _fits(item[_text_key(item)], span, words)
        for key in keys
        for item in items
        for span, words in _spans(item.get(key)) or ()
    ]
    return len(keys) == 1 and sum(found) >= MIN_WHOLE * len(found)


def _text_key(item: Object) -> str:
    return next((key for key in TEXT_KEYS if isinstance(item.get(key), str)), "")


def _is_document(item: Any) -> bool:
    """True for a document of DyGIE."""
    is_named = isinstance(item, dict) and item.keys() >= {"doc_key", "sentences", "ner"}
    sentences, spans = (item["sentences"], item["ner"]) if is_named else (None, None)
    if not isinstance(sentences, list) or not isinstance(spans, list):
        return False
    are_lists = all(isinstance(words, list) for words in sentences)
    return are_lists and len(sentences) == len(spans) and None not in map(_spans, spans)


def _read_document(item: Object) -> list[AnnotatedText]:
    """Read the sentences of DyGIE: spans count the words of the document, with their last."""
    result, first = list[AnnotatedText](), 0
    for words, spans in zip(item["sentences"], item["ner"], strict=True):
        shifted = [
            [start - first, end - first, label] for (start, end, label), _ in _spans(spans) or ()
        ]
        result.append(_read_words({"tokenized_text": words, "ner": shifted}))
        first += len(words)
    return result


def _are_words(item: Any) -> bool:
    """True for a row of GLiNER or SpERT."""
    keys = item.keys() if isinstance(item, dict) else set()
    has_keys = keys >= {"tokenized_text", "ner"} or keys >= {"tokens", "entities", "relations"}
    return has_keys and all(_spans(item.get(key, [])) is not None for key in ("ner", "entities"))


def _read_words(item: Object) -> AnnotatedText:
    """Read spans of words: GLiNER's end with their last word, SpERT's before the next."""
    words = [str(word) for word in get_list(item, "tokenized_text") or get_list(item, "tokens")]
    last = 1 if "ner" in item else 0
    ends = [*accumulate(len(word) + 1 for word in words)]
    places = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
    found = [span for span, _ in _spans(item.get("ner", item.get("entities"))) or ()]
    spans = [
        TextSpan(places[start][0], places[end + last - 1][1], label)
        if 0 <= start < end + last <= len(places)
        else TextSpan(0, 0, label)
        for start, end, label in found
    ]
    return AnnotatedText(" ".join(words), spans, words=places)


def read(item: Any) -> list[AnnotatedText]:
    """Read a text with its spans. Raises BadObject."""
    if _is_document(item):
        return _read_document(item)
    if _are_words(item):
        return [_read_words(item)]
    key = _text_key(item) if isinstance(item, dict) else ""
    if not key:
        raise BadObject(phrase("it has no text."))
    spans = next((found for found in map(_spans, item.values()) if found), [])
    entry = AnnotatedText(item[key], [span for span, _ in spans])
    entry.extra = extra_values(item, (key,))
    return [entry]


def _fits(text: str, span: TextSpan, given: str | None) -> bool:
    """True if a span has its words in the text, or does not begin or end within a word."""
    if given is not None:
        return text[span.start : span.end].split() == given.split()
    edges = (text[max(span.start - 1, 0) : span.start + 1], text[span.end - 1 : span.end + 1])
    is_split = any(len(edge) == 2 and edge.isascii() and edge.isalnum() for edge in edges)
    return span.start < span.end <= len(text) and not is_split


def _spans(value: Any) -> list[tuple[TextSpan, str | None]] | None:
    """The spans of a list, each with its words if they are given; None for another value."""
    if isinstance(value, dict) and len(value) == 1:  # {"entities": […]} of spaCy
        value = next(iter(value.values()))
    spans = list[tuple[TextSpan, str | None]]()
    for item in value if isinstance(value, list) else [None] if value else []:
        match item:
            case [int(start), int(end), str(name)]:
                spans.append((TextSpan(start, end, name), None))
            case {"label": [str(name), *_], "points": [{"start": int(start), "end": int(end)}]}:
                spans.append((TextSpan(start, end + 1, name), None))  # of Dataturks
            case dict():
                ends = next(((item[a], item[b]) for a, b in ENDS if {a, b} <= item.keys()), ())
                label = next((item[key] for key in LABELS if key in item), None)
                match item.get("labels"):  # of Label Studio
                    case [str(only)] if label is None:
                        label = only
                given = next((item[key] for key in WORDS if isinstance(item.get(key), str)), None)
                match (*ends, label):
                    case (int(start), int(end), str(name)):
                        spans.append((TextSpan(start, end, name), given))
                    case _:
                        return None
            case _:
                return None
    return spans


TOOLS = (ARGILLA, LABEL_STUDIO, Tool(recognise, read))
SPANS = make_format("spans", phrase("Texts with spans"), TOOLS[-1])


def read_cells(
    open_table: Open, content: Content, lines: Lines, reading: Reading, remarks: Remarks
) -> Content:
    """The content of a table; with words and tags or labels if its cells hold annotations."""
    if content.rows is not None and content.batches is not None:
        head = Lines(lines.path, lines.encoding, head_only=True)
        sample = [*islice(open_table(head, reading, Remarks()).rows or (), SAMPLE_OBJECTS)]
    else:
        sample, content = look_ahead(content)
    if not any(cell.startswith(("[", "{")) for row in sample for cell in row.cells):
        return content
    items = [_object(content.columns, row) for row in sample]
    tool = next((tool for tool in TOOLS if tool.recognise(items)), None)
    if tool is None:
        _note_spans(content.columns, items, remarks)
        return content
    ahead = lines.without_progress()

    def entries(seen: Remarks, is_first: bool) -> Entries:
        table = open_table(ahead if is_first else lines, reading, Remarks())
        batches = table.batches or ()
        rows = table.rows or (Row(*row) for batch in batches for row in batch.rows())
        values = ((row.line, _object(table.columns, row)) for row in rows)
        return read_values(tool, lines.path, values, seen)

    return annotated_content(entries, lines, remarks)


def note_spans(content: Content, remarks: Remarks) -> Content:
    """The content of a file of objects, with the note of `_note_spans`."""
    sample, content = look_ahead(content, SAMPLE_OBJECTS)
    _note_spans(content.columns, [_object(content.columns, row) for row in sample], remarks)
    return content


def _note_spans(columns: tuple[str, ...], items: list[Object], remarks: Remarks) -> None:
    """Note columns of spans that are not those of the texts."""
    for name in columns if items and all(map(_text_key, items)) else ():
        found = [_spans(item[name]) if item[name] else [] for item in items]
        if any(found) and None not in found:
            remarks.add_note(
                phrase(
                    "“{name}” has spans that do not fit the words of the text, and are not read:"
                    " they must count characters, with the end behind the last one.",
                    name=name[:60],
                )
            )


def position_notes(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], has_text: bool
) -> tuple[str, ...]:
    """Notes on columns of spans whose text or whose types are missing."""
    notes = []
    for name, cells in zip(columns, zip(*rows[:SAMPLE_OBJECTS], strict=True), strict=False):
        spans = [_spans(_value(cell)) for cell in cells if cell.strip(" []")]
        if not has_text and (are_positions(name, cells) or (spans and None not in spans)):
            note = phrase(
                "“{name}” has the positions of spans, but no column has the text to which they"
                " refer: add it as a column.",
                name=name[:60],
            )
            notes.append(note)
        elif are_positions(name, cells):
            note = phrase(
                "“{name}” has positions without the types of the spans, and is not read: write the"
                " start, the end and the type of each span.",
                name=name[:60],
            )
            notes.append(note)
    return tuple(notes)


def _object(columns: tuple[str, ...], row: Row) -> Object:
    return dict(zip(columns, map(_value, row.cells), strict=True))


def _value(cell: str) -> Any:
    """A list or an object of a cell, else its text; None if it is empty."""
    if not cell.startswith(("[", "{")):
        return cell or None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return _with_numbers(parse_list(cell) or cell)


def _with_numbers(value: Any) -> Any:
    """The positions of printed spans as numbers, which `parse_list` leaves as texts."""
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    return int(value) if isinstance(value, str) and value.isdecimal() else value
