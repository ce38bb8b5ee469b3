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
    """Words with BIO tags, and remarks on what was lost, without full stops."""

    words: list[str]
    tags: list[str]
    lost: list[str]


def tag_spans(
    text: str, spans: Sequence[TextSpan], words: Sequence[tuple[int, int]] | None = None
) -> TaggedWords:
    """Split a text into words and tag its spans in BIO.

    `words` are word positions of the annotation tool; by default `word_spans`. A word in which a
    span starts or ends is split. Spans are stripped of white space. Of overlapping spans, the
    longest is kept.
    """
    lost: list[str] = []
    trimmed = [part for span in dict.fromkeys(spans) if (part := _trimmed(text, span, lost))]
    kept: list[TextSpan] = []
    for span in sorted(trimmed, key=lambda item: (item.start - item.end, item.start)):
        if any(span.start < other.end and other.start < span.end for other in kept):
            lost.append(phrase("Span that overlaps another one left out; the longer one was kept"))
        else:
            kept.append(span)
    kept.sort()
    positions = _parted(word_spans(text) if words is None else words, kept)
    first = {start: number for number, (start, _) in enumerate(positions)}
    last = {end: number for number, (_, end) in enumerate(positions)}
    inside = [
        Span(label, first[start], last[end] + 1)
        for start, end, label in kept
        if start in first and end in last
    ]
    tags = tags_from_spans(inside, len(positions), "BIO")
    return TaggedWords([text[start:end] for start, end in positions], tags, lost)


def _trimmed(text: str, span: TextSpan, lost: list[str]) -> TextSpan | None:
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


def _parted(words: Sequence[tuple[int, int]], spans: Sequence[TextSpan]) -> list[tuple[int, int]]:
    """Split words at span boundaries."""
    cuts = sorted({cut for span in spans for cut in (span.start, span.end)})
    parts: list[tuple[int, int]] = []
    number = 0
    for start, end in words:
        while number < len(cuts) and cuts[number] <= start:
            number += 1
        while number < len(cuts) and cuts[number] < end:
            parts.append((start, cuts[number]))
            start = cuts[number]
            number += 1
        parts.append((start, end))
    return parts
