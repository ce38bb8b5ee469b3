"""Windows cover every token of a context, and answer positions map back to characters."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.data.formats.squad import read_squad
from engine.data.tokenized.windows import NOWHERE, Window, answer_positions, tokens_between, windows
from engine.errors import StudioError
from engine.tokenizers.tokenizer import Tokenizer
from tests.often import tries

CLS, SEP = 101, 102


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int], list[tuple[int, int]], int, int]:
    """A question, a context with its token offsets, a maximum length and a stride."""
    question = draw(st.lists(st.integers(1, 9), max_size=6))
    widths = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), max_size=40))
    offsets, position = [], 0
    for gap, width in widths:
        offsets.append((position + gap, position + gap + width))
        position += gap + width
    context = list(range(1_000, 1_000 + len(offsets)))
    length = len(question) + 3 + draw(st.integers(1, 12))
    return question, context, offsets, length, draw(st.integers(1, 15))


def make_windows(case) -> list[Window]:
    question, context, offsets, length, stride = case
    return windows(question, context, offsets, CLS, SEP, length, stride)


@given(cases())
@tries(200)
def test_each_token_is_in_a_window_and_best_in_exactly_one(case):
    question, context, offsets, length, stride = case
    result = make_windows(case)
    covered, best = set(), []
    for window in result:
        tokens = len(window.ids)
        assert tokens <= length
        assert len(window.segments) == len(window.offsets) == len(window.is_max_context) == tokens
        assert window.ids[: window.begin] == [CLS, *question, SEP] and window.ids[-1] == SEP
        assert window.segments == [0] * window.begin + [1] * (window.count + 1)
        for index in range(tokens):
            token = index - window.begin + window.first
            if window.begin <= index < window.begin + window.count:
                assert window.ids[index] == context[token]
                assert tuple(window.offsets[index]) == offsets[token]
                covered.add(token)
                best += [token] if window.is_max_context[index] else []
            else:
                assert tuple(window.offsets[index]) == (NOWHERE, NOWHERE)
                assert not window.is_max_context[index]
    assert covered == set(range(len(context)))
    assert sorted(best) == list(range(len(context)))
    steps = {b.first - a.first for a, b in pairwise(result)}
    assert steps <= {min(stride, length - len(question) - 3)}
    assert result[-1].first + result[-1].count == len(context)


@given(cases())
@tries(100)
def test_the_best_window_has_the_most_context_around_a_token(case):
    """As in run_squad.py: the smaller side plus a hundredth of the length; ties go to the first."""
    result = make_windows(case)
    for token in range(len(case[1])):
        scores = []
        for window in result:
            before, after = token - window.first, window.first + window.count - 1 - token
            inside = before >= 0 and after >= 0
            scores.append(100 * min(before, after) + window.count if inside else -1)
        best = [
            w.is_max_context[token - w.first + w.begin] if s >= 0 else False
            for w, s in zip(result, scores, strict=True)
        ]
        assert best == [n == scores.index(max(scores)) for n in range(len(result))]


@given(cases(), st.data())
@tries(200)
def test_an_answer_inside_a_window_maps_back_to_its_characters(case, data):
    _, context, offsets, _, _ = case
    if not context:
        return
    first = data.draw(st.integers(0, len(context) - 1))
    last = data.draw(st.integers(first, len(context) - 1))
    start, end = offsets[first][0], offsets[last][1]
    assert tokens_between(offsets, start, end) == (first, last)
    result = make_windows(case)
    positions = answer_positions(result, offsets, start, end)
    assert positions.shape == (len(result), 2) and positions.dtype == np.int64
    for window, (a, b) in zip(result, positions, strict=True):
        if window.first <= first and last < window.first + window.count:
            assert (window.offsets[a, 0], window.offsets[b, 1]) == (start, end)
        else:
            assert (a, b) == (0, 0)


@given(cases(), st.integers(0, 100), st.integers(1, 30))
@tries(100)
def test_tokens_between_overlap_the_characters(case, start, length):
    offsets, end = case[2], start + length
    inside = [n for n, (a, b) in enumerate(offsets) if a < end and b > start]
    assert tokens_between(offsets, start, end) == ((inside[0], inside[-1]) if inside else None)


def test_characters_outside_tokens_have_no_answer_position():
    offsets = [(0, 3), (4, 7)]
    assert tokens_between(offsets, 3, 4) is None and tokens_between([], 0, 5) is None
    result = windows([1], [5, 6], offsets, CLS, SEP)
    assert answer_positions(result, offsets, 3, 4).tolist() == [[0, 0]]
    assert answer_positions(result, offsets, 3, 7).tolist() == [[4, 4]]
    assert answer_positions(result, offsets, 2, 5).tolist() == [[3, 4]]


def test_an_empty_context_has_one_window():
    (window,) = windows([1, 2], [], [], CLS, SEP)
    assert window.ids == [CLS, 1, 2, SEP, SEP] and window.segments == [0, 0, 0, 0, 1]
    assert answer_positions([window], [], 0, 3).tolist() == [[0, 0]]


def test_a_long_question_is_truncated_or_refused_if_nothing_fits():
    result = windows([7] * 100, [1, 2], [(0, 1), (1, 2)], CLS, SEP, max_length=70)
    assert result[0].ids.count(7) == 64 and len(result) == 1
    with pytest.raises(StudioError, match="leaves no space"):
        windows([7] * 100, [1], [(0, 1)], CLS, SEP, max_length=67)


@pytest.mark.parametrize("offsets, stride", [([(0, 1)], 1), ([(0, 1), (1, 2)], 0)])
def test_invalid_offsets_and_strides_are_refused(offsets, stride):
    with pytest.raises(ValueError, match="offsets"):
        windows([1], [1, 2], offsets, CLS, SEP, stride=stride)


def test_published_answers_map_back_to_their_characters(assets):
    tokenizer = Tokenizer.from_folder(assets / "models" / "bert-tiny-splade-en")
    path = assets / "datasets" / "squad2-devhalf" / "dev-v2.0.json"
    questions = read_squad(Lines(path, "utf-8"), Remarks())[::120]
    exact = inside = 0
    for question in questions:
        tokens = tokenizer.encode(question.context, max_length=100_000).tokens[1:-1]
        offsets = [(token.start, token.end) for token in tokens]
        question_ids = tokenizer.contents([question.question])[0]
        result = windows(question_ids, [t.id for t in tokens], offsets, CLS, SEP, 128, 48)
        for answer in question.answers:
            end = answer.start + len(answer.text)
            for window, (a, b) in zip(
                result, answer_positions(result, offsets, answer.start, end), strict=True
            ):
                if a:
                    start, stop = int(window.offsets[a, 0]), int(window.offsets[b, 1])
                    inside += 1
                    exact += question.context[start:stop] == answer.text
                    assert answer.text in question.context[start:stop]
            assert (len(result) > 1) == (len(question_ids) + len(tokens) + 3 > 128)
    assert inside > 100 and exact / inside > 0.99


@pytest.mark.parametrize("separators", [1, 2])
def test_a_roberta_has_two_separators_between_question_and_context(separators):
    context, offsets = list(range(100, 130)), [(2 * n, 2 * n + 1) for n in range(30)]
    result = windows([7, 8], context, offsets, 1, 2, 20, 5, separators=separators)
    for window in result:
        assert window.ids[: window.begin] == [1, 7, 8, *[2] * separators]
        assert (
            window.ids[window.begin : window.begin + window.count]
            == context[window.first : window.first + window.count]
        )
        assert len(window.ids) <= 20
        assert window.segments == [0] * window.begin + [1] * (window.count + 1)
    assert result[0].count == 20 - 2 - 2 - separators
