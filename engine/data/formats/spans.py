"""Texts with spans that no tool is known for, and tables with annotations in their cells.

Label Studio and Argilla write CSV and Parquet with lists of spans or answers in a column, and data
sets of the hub have such columns.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, islice
from typing import Any

from engine.config.dataset import Reading
from engine.data.columns.mapping import MIN_WHOLE, TEXTS, are_positions
from engine.data.columns.text_spans import (
    TextSpan,
    cell_value,
    fits_text,
    parse_annotations,
)
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

TEXT_KEYS = (*TEXTS, "textContent", "contents")
Open = Callable[[Lines, Reading, Remarks], Content]


def recognise(items: list[Any]) -> bool:
    """Recognise a text and one list of spans that are in it; or words and spans of words."""
    if all(map(_are_words, items)) or all(map(_is_document, items)):
        return True
    if not all(isinstance(item, dict) and _text_key(item) for item in items):
        return False
    keys = {
        key for item in items for key, value in item.items() if value and parse_annotations(value)
    }
    keys = {
        key for key in keys if all(parse_annotations(item.get(key)) is not None for item in items)
    }
    found = [
        fits_text(item[_text_key(item)], span, words)
        for key in keys
        for item in items
        for span, words in parse_annotations(item.get(key)) or ()
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
    return are_lists and len(sentences) == len(spans) and None not in map(parse_annotations, spans)


def _read_document(item: Object) -> list[AnnotatedText]:
    """Read the sentences of DyGIE: spans count the words of the document, with their last."""
    result, first = list[AnnotatedText](), 0
    for words, spans in zip(item["sentences"], item["ner"], strict=True):
        shifted = [
            [start - first, end - first, label]
            for (start, end, label), _ in parse_annotations(spans) or ()
        ]
        result.append(_read_words({"tokenized_text": words, "ner": shifted}))
        first += len(words)
    return result


def _are_words(item: Any) -> bool:
    """True for a row of GLiNER or SpERT."""
    keys = item.keys() if isinstance(item, dict) else set()
    has_keys = keys >= {"tokenized_text", "ner"} or keys >= {"tokens", "entities", "relations"}
    return has_keys and all(
        parse_annotations(item.get(key, [])) is not None for key in ("ner", "entities")
    )


def _read_words(item: Object) -> AnnotatedText:
    """Read spans of words: GLiNER's end with their last word, SpERT's before the next."""
    words = [str(word) for word in get_list(item, "tokenized_text") or get_list(item, "tokens")]
    last = 1 if "ner" in item else 0
    ends = [*accumulate(len(word) + 1 for word in words)]
    places = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
    found = [span for span, _ in parse_annotations(item.get("ner", item.get("entities"))) or ()]
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
    spans = next((found for found in map(parse_annotations, item.values()) if found), [])
    entry = AnnotatedText(item[key], [span for span, _ in spans])
    are_given = any(isinstance(value, list | dict) for value in item.values())
    entry.is_annotated = are_given or "annotation" in item  # Dataturks writes null for none
    entry.extra = extra_values(item, (key,))
    return [entry]


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
    if tool is None or (tool is TOOLS[-1] and not all(map(_are_words, items))):
        return content  # a column of spans is read as it is
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
        found = [parse_annotations(item[name]) if item[name] else [] for item in items]
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
        spans = [parse_annotations(cell_value(cell)) for cell in cells if cell.strip(" []")]
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
    return dict(zip(columns, map(cell_value, row.cells), strict=True))
