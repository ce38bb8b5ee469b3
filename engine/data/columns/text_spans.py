"""Convert annotated character spans to words with BIO tags."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.data.columns.tags import Span, tags_from_spans
from engine.data.columns.words import word_spans
from engine.phrases import phrase


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


def tag_spans(
    text: str, spans: Sequence[TextSpan], words: Sequence[tuple[int, int]] | None = None
) -> TaggedWords:
    """Split a text into words and tag its spans in BIO.

    `words` are word positions of the annotation tool; by default `word_spans`. A word in which a
    span starts or ends is split. Spans are stripped of white space. Of overlapping spans, the
    longest is kept.
    """
    lost: list[str] = []
    trimmed = [part for span in dict.fromkeys(spans) if (part := _trim(text, span, lost))]
    selected: list[TextSpan] = []
    for span in sorted(trimmed, key=lambda item: (item.start - item.end, item.start)):
        if any(span.start < other.end and other.start < span.end for other in selected):
            lost.append(phrase("Span that overlaps another one left out; the longer one was kept"))
        else:
            selected.append(span)
    selected.sort()
    words = word_spans(text) if words is None else words
    positions = _split_words(words, selected)
    cuts = {start for start, _ in positions} - {start for start, _ in words}
    is_within = [text[cut - 1 : cut + 1].isalnum() for cut in cuts]  # as with shifted offsets
    lost += [phrase("Word cut between two letters, where a span begins or ends")] * sum(is_within)
    first = {start: index for index, (start, _) in enumerate(positions)}
    last = {end: index for index, (_, end) in enumerate(positions)}
    token_spans = [
        Span(label, first[start], last[end] + 1)
        for start, end, label in selected
        if start in first and end in last
    ]
    tags = tags_from_spans(token_spans, len(positions), "BIO")
    return TaggedWords([text[start:end] for start, end in positions], tags, lost)


def _trim(text: str, span: TextSpan, lost: list[str]) -> TextSpan | None:
    start, end, label = span
    if not 0 <= start < end <= len(text):
        lost.append(phrase("Span that is empty or not within its text left out"))
        return None
    if not label.strip():
        lost.append(phrase("Span without a label left out"))
        return None
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    end -= len(inner) - len(inner.rstrip())
    if start >= end:
        lost.append(phrase("Span of white space left out"))
        return None
    return TextSpan(start, end, label.strip())


def _split_words(
    words: Sequence[tuple[int, int]], spans: Sequence[TextSpan]
) -> list[tuple[int, int]]:
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
