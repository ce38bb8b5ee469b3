"""Spans of a text by its characters: notations in cells, and words with BIO tags for taggers.

A cell of spans is a JSON list of start, end and label: `[[0, 5, "person"], [9, 13, "place"]]`, “[]”
if the text has none. Spans may overlap, and one may lie in another.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from engine.data.columns.lists import parse_list
from engine.data.columns.tags import Span, count_spans, spans_from_tags, tags_from_spans
from engine.data.columns.words import split_words, word_spans
from engine.phrases import phrase

NO_SPANS = "[]"
STARTS = ("[[", "[{", "[(", '{"', "{'")  # of cells with spans
ENDS = (
    *(("start", "end"), ("start_offset", "end_offset"), ("startOffset", "endOffset")),
    *(("start_char", "end_char"), ("begin", "end")),
)
LABELS = (
    *("className", "label", "tag", "type", "entity_type", "entity_group", "entity", "category"),
    *("class", "displayName"),
)
WORDS = ("text", "word", "words", "value", "mention", "surface")  # of a span
OVERLAP = phrase("Span that overlaps another one left out; the longer one was kept")


class TextSpan(NamedTuple):
    """Characters (code points) from `start` to `end`, exclusive."""

    start: int
    end: int
    label: str


class TaggedWords(NamedTuple):
    """Words with BIO tags, and remarks on lost spans and cut words, without full stops."""

    words: list[str]
    tags: list[str]
    remarks: list[str]


class SpannedWords(NamedTuple):
    """Words with their places in a text, all spans of them, and remarks as of `TaggedWords`."""

    text: str
    places: list[tuple[int, int]]  # characters of each word
    spans: list[Span]  # of words; they may overlap
    remarks: list[str]

    @property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.places]

    def of_characters(self, span: Span) -> TextSpan:
        return TextSpan(self.places[span.start][0], self.places[span.end - 1][1], span.type)

    def cell(self, spans: Iterable[Span]) -> str:
        """The cell of spans of these words."""
        return format_spans(map(self.of_characters, spans))


# ── cells ────────────────────────────────────────────────────────────────────────────────────────


def read_spans(cell: str) -> list[TextSpan] | None:
    """The spans of a cell in any notation of `parse_annotations`; None if it has tags, or nothing.

    “[]” may also be a row without words, so it is None, too.
    """
    found = parse_annotations(cell_value(cell)) if cell[:2] in STARTS else None
    return None if found is None else [span for span, _ in found]


def sorted_spans(spans: Iterable[TextSpan]) -> list[TextSpan]:
    """The spans, each once, an outer one before those in it."""
    return sorted({*spans}, key=lambda span: (span.start, -span.end, span.label))


def format_spans(spans: Iterable[TextSpan]) -> str:
    """The cell of spans, in their order."""
    return json.dumps([[*span] for span in sorted_spans(spans)], ensure_ascii=False)


def parse_annotations(value: Any) -> list[tuple[TextSpan, str | None]] | None:
    """The spans of a list as tools write them, with their words if given; None for another value.

    Each is a list of start, end and label, or an object.
    """
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


def cell_value(cell: str) -> Any:
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


def fits_text(text: str, span: TextSpan, given: str | None) -> bool:
    """True if a span has its words in the text, or does not begin or end within a word."""
    if given is not None:
        return text[span.start : span.end].split() == given.split()
    edges = (text[max(span.start - 1, 0) : span.start + 1], text[span.end - 1 : span.end + 1])
    is_split = any(len(edge) == 2 and edge.isascii() and edge.isalnum() for edge in edges)
    return span.start < span.end <= len(text) and not is_split


def valid_spans(text: str, spans: Sequence[TextSpan], lost: list[str]) -> list[TextSpan]:
    """The spans that mark characters of the text with a label, each once; adds remarks to `lost`
    on the others."""
    valid = list[TextSpan]()
    for start, end, label in dict.fromkeys(spans):
        if not 0 <= start < end <= len(text):
            lost.append(phrase("Span that is empty or not within its text left out"))
        elif not label.strip():
            lost.append(phrase("Span without a label left out"))
        elif not text[start:end].strip():
            lost.append(phrase("Span of white space left out"))
        else:
            valid.append(TextSpan(start, end, label.strip()))
    return valid


def moved_spans(spans: Sequence[TextSpan], old: str, new: str) -> list[TextSpan]:
    """The spans of a text after an edit of it; those whose characters are all replaced are lost."""
    first, shared = 0, min(len(old), len(new))
    while first < shared and old[first] == new[first]:
        first += 1
    rest = 0  # characters after the edit
    while rest < shared - first and old[-1 - rest] == new[-1 - rest]:
        rest += 1
    last, shift = len(old) - rest, len(new) - len(old)

    def move_start(place: int) -> int:
        if place < first or place == first < last:
            return place
        return max(place, last) + shift

    def move_end(place: int) -> int:
        return place + shift if place >= last and place > first else min(place, first)

    moved = (TextSpan(move_start(start), move_end(end), label) for start, end, label in spans)
    return [span for span in moved if span.start < span.end]


class SpanCounts:
    """Counts of the spans in cells of BIO tags, of classes of words, or of spans.

    Attributes:
        overlaps: spans of characters that overlap a longer one; None if the cells have tags.
    """

    def __init__(self) -> None:
        self._tags, self._types = Counter[str](), Counter[str]()
        self.overlaps: int | None = None

    def add(self, cell: str) -> None:
        spans = read_spans(cell)
        if spans is None:
            self._tags.update(split_words(cell))
            return
        self._types.update(span.label for span in spans)
        self.overlaps = (self.overlaps or 0) + len({*spans}) - len(flat_spans(spans))

    @property
    def types(self) -> Counter[str]:
        """Number of spans of each type, or of words with each tag if they are classes."""
        return count_spans(self._tags) if self.overlaps is None else self._types


# ── tags ─────────────────────────────────────────────────────────────────────────────────────────


def flat_spans(spans: Sequence[TextSpan]) -> list[TextSpan]:
    """The spans without those that overlap a longer one, or an earlier one of equal length."""
    selected: list[TextSpan] = []
    for span in sorted({*spans}, key=lambda item: (item.start - item.end, item.start)):
        if not any(span.start < other.end and other.start < span.end for other in selected):
            selected.append(span)
    return sorted(selected)


def marks_characters(text: str, cell: str) -> bool:
    """True if the cell of a row has spans of characters, or says that it has none."""
    is_none = cell == NO_SPANS and text.strip() not in ("", NO_SPANS)
    return is_none or read_spans(cell) is not None


def natural_text(text: str, cell: str) -> str:
    """The text of a row with spans of characters; words with tags are joined by spaces."""
    return text if marks_characters(text, cell) else " ".join(split_words(text))


def spans_of_tags(text: str, words: Sequence[str], tags: Sequence[str]) -> list[TextSpan]:
    """The spans in a text of tags of its words. Raises ValueError if a word is not in the text."""
    places, end = list[tuple[int, int]](), 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        places.append((start, end))
    return [
        TextSpan(places[span.start][0], places[span.end - 1][1], span.type)
        for span in spans_from_tags(tags)
    ]


def tagged_words(text: str, cell: str) -> TaggedWords:
    """The words of a row and their tags, from tags or spans; no tags if the cell is empty."""
    if marks_characters(text, cell):
        return tag_spans(text, read_spans(cell) or ())
    return TaggedWords(split_words(text), split_words(cell), [])


def spanned_words(text: str, cell: str) -> SpannedWords:
    """The words of a row and all its spans, from spans of characters or tags of words.

    A word in which a span begins or ends is split. Tagged words are joined by spaces.
    """
    lost: list[str] = []
    if not marks_characters(text, cell):
        spans = spans_from_tags(split_words(cell))
        return spaced_words(split_words(text))._replace(spans=spans)
    trimmed = {trim_span(text, span) for span in valid_spans(text, read_spans(cell) or (), lost)}
    words = word_spans(text)
    places = split_at_spans(words, [*trimmed])
    lost += _cut_remarks(text, words, places)
    return SpannedWords(text, places, _spans_of_words(sorted_spans(trimmed), places), lost)


def spaced_words(words: Sequence[str]) -> SpannedWords:
    """Words joined by spaces, without spans."""
    ends = [*accumulate(len(word) + 1 for word in words)]
    places = [(end - len(word) - 1, end - 1) for word, end in zip(words, ends, strict=True)]
    return SpannedWords(" ".join(words), places, [], [])


def tag_spans(
    text: str, spans: Sequence[TextSpan], words: Sequence[tuple[int, int]] | None = None
) -> TaggedWords:
    """Split a text into words and tag its spans in BIO.

    `words` are word positions of the annotation tool; by default `word_spans`. A word in which a
    span starts or ends is split. Spans are stripped of white space. Of overlapping spans, the
    longest is kept (`flat_spans`).
    """
    lost: list[str] = []
    trimmed = {trim_span(text, span) for span in valid_spans(text, spans, lost)}
    selected = flat_spans([*trimmed])
    lost += [OVERLAP] * (len(trimmed) - len(selected))
    words = word_spans(text) if words is None else words
    positions = split_at_spans(words, selected)
    lost += _cut_remarks(text, words, positions)
    tags = tags_from_spans(_spans_of_words(selected, positions), len(positions), "BIO")
    return TaggedWords([text[start:end] for start, end in positions], tags, lost)


def _cut_remarks(
    text: str, words: Sequence[tuple[int, int]], parts: Sequence[tuple[int, int]]
) -> list[str]:
    """Remarks on words that were split between two letters, as with shifted offsets."""
    cuts = {start for start, _ in parts} - {start for start, _ in words}
    is_within = [text[cut - 1 : cut + 1].isalnum() for cut in cuts]
    return [phrase("Word cut between two letters, where a span begins or ends")] * sum(is_within)


def _spans_of_words(spans: Iterable[TextSpan], words: Sequence[tuple[int, int]]) -> list[Span]:
    """Spans of characters as spans of the words at these places, at which they begin and end."""
    first = {start: index for index, (start, _) in enumerate(words)}
    last = {end: index for index, (_, end) in enumerate(words)}
    return [
        Span(label, first[start], last[end] + 1)
        for start, end, label in spans
        if start in first and end in last
    ]


def spans_alike(text: str, *codes: Sequence[TextSpan]) -> list[list[Span]]:
    """All spans of several codes as spans of the same words, split at the ends of all spans."""
    trimmed = [
        sorted_spans(trim_span(text, span) for span in valid_spans(text, spans, []))
        for spans in codes
    ]
    words = split_at_spans(word_spans(text), [span for spans in trimmed for span in spans])
    return [_spans_of_words(spans, words) for spans in trimmed]


def tag_alike(text: str, *codes: Sequence[TextSpan]) -> list[list[str]]:
    """BIO tags of several codes on the same words, which are split at the ends of all spans."""
    flat = [
        flat_spans([trim_span(text, span) for span in valid_spans(text, spans, [])])
        for spans in codes
    ]
    words = split_at_spans(word_spans(text), [span for spans in flat for span in spans])
    return [tag_spans(text, spans, words).tags for spans in flat]


def trim_span(text: str, span: TextSpan) -> TextSpan:
    """A span without white space at its ends."""
    inner = text[span.start : span.end]
    start = span.start + len(inner) - len(inner.lstrip())
    return TextSpan(start, start + len(inner.strip()), span.label)


def split_at_spans(
    words: Sequence[tuple[int, int]], spans: Sequence[TextSpan]
) -> list[tuple[int, int]]:
    """Positions of words, split in which a span starts or ends."""
    cuts = sorted({cut for span in spans for cut in (span.start, span.end)})
    parts: list[tuple[int, int]] = []
    index = 0
    for start, end in words:
        while index < len(cuts) and cuts[index] <= start:
            index += 1
        while index < len(cuts) and cuts[index] < end:
            parts.append((start, cuts[index]))
            start = cuts[index]
            index += 1
        parts.append((start, end))
    return parts
