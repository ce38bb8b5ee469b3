"""Rows as texts with spans and labels, for formats of annotation tools."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from engine.data.columns.label_sets import parse_flag
from engine.data.columns.tags import spans_from_tags
from engine.data.columns.text_spans import TextSpan, read_spans
from engine.data.columns.words import split_words
from engine.data.writers.export import ROW, Export, Record

ID = "id"


@dataclass(frozen=True)
class Example:
    """A text and its annotations, None without such ones."""

    number: int  # of the row, from 0
    text: str
    spans: list[TextSpan] | None
    words: list[tuple[int, int]] | None  # places of the words, if the data set has tags of words
    labels: list[str] | None
    others: dict[str, str]  # cells of the other columns


def iter_examples(export: Export, reserved: Sequence[str] = ()) -> Iterator[Example]:
    """The rows as examples; other columns get names that the format has not `reserved`."""
    mapping, others = export.spec.mapping, dict[str, str]()
    used = {mapping.text, *mapping.label_columns}
    for column, key in export.columns.items():
        name = column.lstrip("_") or column
        while name in reserved or name in others:
            name += "_2"
        if key not in used:
            others[name] = key
    for record in export.records():
        text, spans, words = str(record[mapping.text]), None, None
        if export.spec.has_text_spans:
            cell = str(record[mapping.tags or ""]).strip()
            spans = [*(read_spans(cell) or ())] if cell else None
        elif mapping.tags is not None:
            text, spans, words = _spans(text, str(record[mapping.tags]))
        yield Example(
            record[ROW],
            text,
            spans,
            words,
            _labels(export, record),
            {name: str(record[key]) for name, key in others.items()},
        )


def label_names(export: Export) -> tuple[str, ...]:
    """All labels, sorted."""
    if export.spec.mapping.flags:
        return export.spec.mapping.flags
    sets = export.label_sets
    if sets is None:
        return export.label_cells
    return tuple(sorted({label for labels in sets.values() for label in labels}))


def has_labels(export: Export) -> bool:
    """True if the rows have a column of labels, other than tags."""
    mapping = export.spec.mapping
    return mapping.label is not None or bool(mapping.flags)


def _spans(cell: str, tags: str) -> tuple[str, list[TextSpan] | None, list[tuple[int, int]]]:
    """The text of words, its spans if it has tags, and the places of its words."""
    words, marks = split_words(cell), split_words(tags)
    ends = accumulate(len(word) + 1 for word in words)
    places = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
    spans = [
        TextSpan(places[span.start][0], places[span.end - 1][1], span.type)
        for span in spans_from_tags(marks[: len(words)])
    ]
    return " ".join(words), spans if marks else None, places


def _labels(export: Export, record: Record) -> list[str] | None:
    mapping, sets = export.spec.mapping, export.label_sets
    if not export.is_labelled(record[ROW]):
        return None
    if mapping.flags:
        return [name for name in mapping.flags if parse_flag(record[name], name)]
    cell = str(record[mapping.label]).strip() if mapping.label is not None else ""
    if sets is not None:
        return list(sets.get(cell, ()))
    return [cell] if cell else None
