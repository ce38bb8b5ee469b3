"""Spans of characters survive edits of their text, and cells that hold none are refused."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Mapping
from engine.data.columns.text_spans import (
    TextSpan,
    flat_spans,
    format_spans,
    moved_spans,
    natural_text,
    read_spans,
    spans_of_tags,
    tag_alike,
    tag_spans,
)
from engine.errors import BadFile
from tests.engine.data.importing import ONLY_TRAIN, import_files, write_lines
from tests.often import tries

LETTERS = st.text(st.sampled_from("ab é😀\n"), max_size=20)


@st.composite
def marked_text(draw: st.DrawFn) -> tuple[str, list[TextSpan]]:
    text = draw(LETTERS)
    ends = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
    pairs = draw(st.lists(ends.filter(lambda pair: pair[0] < pair[1]), max_size=5))
    return text, [TextSpan(a, b, draw(st.sampled_from(["x", "a label"]))) for a, b in pairs]


@given(marked_text())
@tries(200)
def test_cells_hold_all_spans_and_flat_ones_do_not_overlap(case):
    text, spans = case
    assert {*(read_spans(format_spans(spans)) or [])} == {*spans}
    flat = flat_spans(spans)
    assert all(a.end <= b.start for a, b in pairwise(flat))
    for left_out in {*spans} - {*flat}:
        lengths = [
            f.end - f.start for f in flat if f.start < left_out.end and left_out.start < f.end
        ]
        assert max(lengths) >= left_out.end - left_out.start
    words, tags, _ = tag_spans(text, spans)
    found = {text[s.start : s.end] for s in spans_of_tags(text, words, tags)}
    assert found <= {text[s.start : s.end].strip() for s in spans}
    assert len({len(side) for side in tag_alike(text, spans, [], flat)}) == 1


@given(marked_text(), st.text("Z", min_size=1, max_size=3), st.integers(0, 20), st.integers(0, 20))
@tries(200)
def test_spans_outside_an_edit_keep_their_characters(case, inserted, first, length):
    text, spans = case
    first = min(first, len(text))
    last = min(first + length, len(text))
    new = text[:first] + inserted + text[last:]
    outside = [span for span in spans if span.end <= first or span.start >= last]
    moved = [new[span.start : span.end] for span in moved_spans(outside, text, new)]
    assert moved == [text[span.start : span.end] for span in outside]
    assert all(0 <= s.start < s.end <= len(new) for s in moved_spans(spans, text, new))


@pytest.mark.parametrize(
    "new, expected",
    [
        ("Ann Lee, Rome", [(0, 7, "P"), (9, 13, "L")]),
        ("Hi Ann Lee Rome", [(3, 10, "P"), (11, 15, "L")]),
        ("Anna Lee Rome", [(0, 8, "P"), (9, 13, "L")]),
        ("Rome", [(0, 4, "L")]),
        ("Ann Lee Rom", [(0, 7, "P"), (8, 11, "L")]),
        ("", []),
    ],
)
def test_an_edited_text_moves_its_spans(new, expected):
    spans = [TextSpan(0, 7, "P"), TextSpan(8, 12, "L")]
    assert moved_spans(spans, "Ann Lee Rome", new) == expected


def test_cells_that_hold_no_spans_are_refused_with_their_line(tmp_path):
    good, text = '"[[0, 3, ""P""]]"', "Ann is here"
    file = write_lines(
        tmp_path / "a.csv", "text,spans", f"{text},{good}", f"{text},[]", f"{text},x"
    )
    with pytest.raises(BadFile, match="“x” is no list of spans") as caught:
        import_files(file, tmp_path / "v", ONLY_TRAIN, Mapping(text="text", tags="spans"))
    assert caught.value.line == 4
    cells = (good, "[]", "", '"[[0, 30, ""P""], [3, 4, ""P""], [4, 6, "" ""], [0, 3, ""Q""]]"')
    file = write_lines(tmp_path / "b.csv", "text,spans", *(f"{text},{cell}" for cell in cells))
    dataset = import_files(file, tmp_path / "w", ONLY_TRAIN)
    assert dataset.column("spans").to_pylist() == ['[[0, 3, "P"]]', "[]", "", '[[0, 3, "Q"]]']
    notes = " ".join(map(str, dataset.spec.notes))
    for part in ("not within its text", "white space left out", "without a label left out"):
        assert part in notes
    assert dataset.spec.unlabelled == {"train": 1}
    assert natural_text("a  b", "[]") == "a  b" and natural_text("a  b", "O O") == "a b"
