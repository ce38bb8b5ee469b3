"""Spans of tokens as one tag per token, in one of four schemes.

| scheme | three spans of one type: three tokens, two right after them, and one |
| --- | --- |
| BIO | B I I B I O B (also called IOB2; Tjong Kim Sang and Veenstra 1999) |
| IOB1 | I I I B I O I (Ramshaw and Marcus 1995) |
| IOBES | B I E B E O S |
| BILOU | B I L B L O U (Ratinov and Roth 2009) |

A tag is “O” (outside), or a mark and a type: “B-person”; with a single type, the mark suffices.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from engine.data.columns.words import split_words
from engine.errors import StudioError
from engine.phrases import phrase

Scheme = Literal["BIO", "IOB1", "IOBES", "BILOU"]
MARKS: dict[Scheme, tuple[str, str, str, str]] = {  # of a single token; first, inner and last
    "BIO": ("B", "B", "I", "I"),
    "IOB1": ("I", "I", "I", "I"),
    "IOBES": ("S", "B", "I", "E"),
    "BILOU": ("U", "B", "I", "L"),
}
OPEN, CONTINUING = "BI", "IEL"  # marks that may be continued, and marks that continue


class Span(NamedTuple):
    """Tokens from `start` to `end`, exclusive; `type` is empty if the tags have none."""

    type: str
    start: int
    end: int


class UnknownTag(StudioError):
    """A tag of no scheme; numbers count from 1, 0 is unknown."""

    def __init__(self, tag: str, sentence: int = 0, token: int = 0) -> None:
        where = (
            phrase("Sentence {sentence}, token {token}: ", sentence=sentence, token=token)
            if sentence
            else ""
        )
        shown = tag if len(tag) <= 60 else tag[:60] + "…"
        super().__init__(
            phrase("{where}“{shown}” is not a valid span tag.", where=where, shown=shown),
            phrase("Valid tags are O, or B, I, E, S, L or U with a type, such as B-person."),
        )
        self.tag, self.sentence, self.token = tag, sentence, token


def spans_from_tags(tags: Sequence[str]) -> list[Span]:
    """Find the spans of a sentence in any scheme, valid or not, like conlleval and seqeval.

    A token continues the span before it if the marks allow it and the types are equal; any other
    token that is not outside starts a span.

    Raises UnknownTag.
    """
    spans: list[Span] = []
    mark_before, type_before = "O", ""
    for index, tag in enumerate(tags):
        mark, type_ = _split_tag(tag)
        if mark in CONTINUING and mark_before in OPEN and type_ == type_before:
            spans[-1] = Span(type_, spans[-1].start, index + 1)
        elif mark != "O":
            spans.append(Span(type_, index, index + 1))
        mark_before, type_before = mark, type_
    return spans


def tags_from_spans(spans: Sequence[Span], tokens: int, scheme: Scheme) -> list[str]:
    """The tags of a sentence with these ordered, disjoint spans."""
    tags = ["O"] * tokens
    single, first, inner, last = MARKS[scheme]
    before = Span("", -1, -1)
    for span in spans:
        count = span.end - span.start
        marks = [single] if count == 1 else [first, *[inner] * (count - 2), last]
        if scheme == "IOB1" and (before.type, before.end) == (span.type, span.start):
            marks[0] = "B"
        suffix = f"-{span.type}" if span.type else ""
        tags[span.start : span.end] = [mark + suffix for mark in marks]
        before = span
    return tags


def to_bio(tags: Sequence[str], scheme: Scheme) -> tuple[list[str], list[int]]:
    """Convert the tags of a sentence to BIO, and list the indices that `scheme` does not allow.

    Raises UnknownTag.
    """
    spans = spans_from_tags(tags)
    valid = tags_from_spans(spans, len(tags), scheme)
    invalid = [n for n, (a, b) in enumerate(zip(tags, valid, strict=True)) if a != b]
    return tags_from_spans(spans, len(tags), "BIO"), invalid


def recognise_scheme(sentences: Iterable[Sequence[str]]) -> Scheme | None:
    """Recognise the scheme of a data set; None if its tags are classes of tokens.

    E and S mean IOBES, L and U mean BILOU. Otherwise, it is IOB1 if more spans start with an I than
    with a B that separates nothing, else BIO.

    Raises:
        StudioError: if the marks belong to two schemes.
        UnknownTag: if most tags have marks, and one does not.
    """
    counts: Counter[str] = Counter()
    unknown: UnknownTag | None = None
    needless = missing = 0  # B that separates nothing, and spans that start without B
    for index, tags in enumerate(sentences, start=1):
        counts.update(tags)
        position = next((n for n, tag in enumerate(tags, start=1) if not _is_tag(tag)), 0)
        if position:
            unknown = unknown or UnknownTag(tags[position - 1], index, position)
            continue
        needless += _count_wrong(tags, "IOB1", "B", "I")
        missing += _count_wrong(tags, "BIO", "I", "B")
    if unknown is not None:
        tag_count = sum(count for tag, count in counts.items() if tag != "O")
        mark_count = sum(count for tag, count in counts.items() if _is_tag(tag) and tag[1:2] == "-")
        if 2 * mark_count > tag_count:
            raise unknown
        return None
    marks = {tag[0] for tag in counts}
    iobes, bilou = marks & set("ES"), marks & set("LU")
    if iobes and bilou:
        raise StudioError(
            "The tags mix two schemes: {sorted}.",
            "Use either E and S for the last and the single token of a span, or L and U, "
            "but not both.",
            sorted=", ".join(sorted(iobes | bilou)),
        )
    if iobes or bilou:
        return "IOBES" if iobes else "BILOU"
    return "IOB1" if missing > needless else "BIO"


def are_spans(tags: Iterable[str]) -> bool:
    """True if tags look like span tags; otherwise each is a class of a word."""
    unique = set(tags)
    return all(map(_is_tag, unique)) and any(tag[1:2] == "-" for tag in unique)


def count_spans(tags: Counter[str]) -> Counter[str]:
    """Number of spans of each type in BIO tags, or of words with each tag if they are classes."""
    if not are_spans(tags):
        return tags
    return Counter({tag[2:]: count for tag, count in tags.items() if tag.startswith("B")})


def split_tags(cell: str) -> list[str]:
    """Split a cell into its tags, at spaces or, if these are tags of spans, at commas."""
    tags = split_words(cell)
    parts = [part.strip() for part in cell.split(",")] if len(tags) == 1 else []
    return parts if len(parts) > 1 and are_spans(parts) else tags


def tag_type(tag: str) -> str:
    """The span type of a tag; empty outside or if it has none. Raises UnknownTag."""
    return _split_tag(tag)[1]


def _count_wrong(tags: Sequence[str], scheme: Scheme, mark: str, valid: str) -> int:
    """Count the tags with `mark` that should be `valid` in this scheme."""
    expected = tags_from_spans(spans_from_tags(tags), len(tags), scheme)
    return sum(a[0] == mark and b[0] == valid for a, b in zip(tags, expected, strict=True))


def _is_tag(tag: str) -> bool:
    return tag[:1] in tuple("OBIESLU") and tag[1:2] in ("", "-")


def _split_tag(tag: str) -> tuple[str, str]:
    if not _is_tag(tag):
        raise UnknownTag(tag)
    return tag[0], tag[2:]
