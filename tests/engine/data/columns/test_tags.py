"""Tags become the spans that seqeval finds, and any scheme becomes BIO."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, Tokens

from engine.data.columns.tags import (
    MARKS,
    Span,
    UnknownTag,
    recognise_scheme,
    spans_from_tags,
    split_tags,
    tags_from_spans,
    to_bio,
)
from engine.errors import StudioError
from tests.often import tries

SEQEVAL_SCHEMES = {"BIO": IOB2, "IOB1": IOB1, "IOBES": IOBES, "BILOU": BILOU}
TYPES = ["PER", "LOC", "a-b", ""]


def sentences(marks: str, types: list[str] = TYPES[:2]) -> st.SearchStrategy[list[str]]:
    """Any tags, in any order."""
    tags = [f"{mark}-{type_}" if type_ else mark for mark in marks for type_ in types]
    return st.lists(st.sampled_from(["O", *tags]), max_size=12)


@st.composite
def sentence_spans(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans of a sentence, some of them adjacent, and its length in tokens."""
    spans, index = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = index + draw(st.integers(0, 2))
        index = start + draw(st.integers(1, 4))
        spans.append(Span(draw(st.sampled_from(TYPES)), start, index))
    return spans, index + draw(st.integers(0, 2))


@given(sentences("BIES", TYPES))
@tries(200)
def test_spans_equal_those_of_seqeval(tags):
    theirs = [(kind, start, end + 1) for kind, start, end in get_entities(tags)]
    assert [(span.type or "_", span.start, span.end) for span in spans_from_tags(tags)] == theirs


@given(sentences("BILU"))
@tries(100)
def test_last_and_unit_are_read_as_end_and_single(tags):
    marks = {"L": "E", "U": "S"}
    assert spans_from_tags(tags) == spans_from_tags(
        [marks.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    )


@pytest.mark.parametrize("scheme", list(MARKS))
@given(case=sentence_spans())
@tries(60)
def test_spans_round_trip_in_every_scheme(scheme, case):
    spans, tokens = case
    tags = tags_from_spans(spans, tokens, scheme)
    assert spans_from_tags(tags) == spans
    theirs = [(s.tag, s.start, s.end) for s in Tokens(tags, SEQEVAL_SCHEMES[scheme]).entities]
    adjacent = any(a.end == b.start and a.type != b.type for a, b in pairwise(spans))
    if scheme != "IOB1" or not adjacent:  # seqeval then loses the token before a B
        assert theirs == [(span.type or "_", span.start, span.end) for span in spans]
    assert to_bio(tags, scheme) == (tags_from_spans(spans, tokens, "BIO"), [])


@pytest.mark.parametrize("scheme", list(MARKS))
@given(case=st.lists(sentence_spans(), min_size=1, max_size=8))
@tries(100)
def test_the_recognised_scheme_gives_the_same_spans(scheme, case):
    tagged = [tags_from_spans(spans, tokens, scheme) for spans, tokens in case]
    guess = recognise_scheme(tagged)
    assert guess is not None
    for tags, (spans, tokens) in zip(tagged, case, strict=True):
        assert to_bio(tags, guess) == (tags_from_spans(spans, tokens, "BIO"), []) or guess == scheme
    if scheme in ("IOBES", "BILOU") and any(tag[0] in "ESLU" for tags in tagged for tag in tags):
        assert guess == scheme


@pytest.mark.parametrize(
    "scheme, tags, invalid, bio",
    [
        ("BIO", "O I-PER I-PER", [1], "O B-PER I-PER"),
        ("BIO", "B-PER I-LOC I-LOC", [1], "B-PER B-LOC I-LOC"),
        ("BIO", "B-PER E-PER I-PER", [1, 2], "B-PER I-PER B-PER"),
        ("BIO", "O-PER B- O", [0, 1], "O B O"),
        ("IOB1", "I-PER I-PER B-PER", [], "B-PER I-PER B-PER"),
        ("IOB1", "O B-PER I-PER", [1], "O B-PER I-PER"),
        ("IOBES", "B-PER I-PER O", [1], "B-PER I-PER O"),
        ("IOBES", "B-PER O E-PER", [0, 2], "B-PER O B-PER"),
        ("BILOU", "U-PER I-PER L-LOC", [1, 2], "B-PER B-PER B-LOC"),
    ],
)
def test_impossible_tags_are_repaired_and_reported(scheme, tags, invalid, bio):
    assert to_bio(tags.split(), scheme) == (bio.split(), invalid)


@pytest.mark.parametrize("scheme", list(MARKS))
@given(data=st.data())
@tries(100)
def test_repaired_tags_are_valid_and_keep_their_spans(scheme, data):
    tags = data.draw(sentences("BIESLU", TYPES))
    converted, invalid = to_bio(tags, scheme)
    assert spans_from_tags(converted) == spans_from_tags(tags)
    assert to_bio(converted, "BIO") == (converted, [])
    valid = tags_from_spans(spans_from_tags(tags), len(tags), scheme)
    assert invalid == [n for n, tag in enumerate(tags) if tag != valid[n]]
    assert to_bio(valid, scheme) == (converted, [])


@pytest.mark.parametrize(
    "tags, scheme",
    [
        ("O O", "BIO"),
        ("", "BIO"),
        ("B-x I-x O B-y", "BIO"),
        ("B-x I-x O I-y B-z O B-z", "BIO"),
        ("I-x I-x O I-y", "IOB1"),
        ("I-x B-x O I-y", "IOB1"),
        ("I-x O I-x O B-x", "IOB1"),
        ("B-x E-x O S-y", "IOBES"),
        ("B-x L-x O U-y", "BILOU"),
        ("B I O B", "BIO"),
        ("NN VB DT O", None),
        ("O S E L U N V ^", None),
        ("B-", "BIO"),
    ],
)
def test_schemes_are_distinguished(tags, scheme):
    assert recognise_scheme([tags.split()]) == scheme


def test_mixed_schemes_are_refused():
    with pytest.raises(StudioError, match="E, U"):
        recognise_scheme([["B-x", "E-x"], ["U-x"]])


@pytest.mark.parametrize(
    "tag", ["X-PER", "", "b-PER", "BPER", "-", "PER", "B_PER", "Ⅰ-x", "x" * 500]
)
def test_an_unknown_tag_is_reported_with_its_position(tag):
    with pytest.raises(UnknownTag) as caught:
        recognise_scheme([["O"], ["B-PER", "I-PER", tag]])
    assert (caught.value.sentence, caught.value.token) == (2, 3)
    assert caught.value.problem.startswith("Sentence 2, token 3: “")
    assert len(str(caught.value)) < 250
    with pytest.raises(UnknownTag, match="not a valid span tag"):
        spans_from_tags([tag])


@pytest.mark.parametrize(
    "cell, tags",
    [
        ("O B-x", ["O", "B-x"]),
        ("O,B-x,I-x", ["O", "B-x", "I-x"]),
        ("['O', 'B-x']", ["O", "B-x"]),
        ("O", ["O"]),
        (",", [","]),
        ("NN,VB", ["NN,VB"]),
        ("", []),
    ],
)
def test_tags_are_separated_by_spaces_or_commas(cell, tags):
    assert split_tags(cell) == tags
