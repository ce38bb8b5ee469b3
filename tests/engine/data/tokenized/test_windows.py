"""Windows hold every token of a context, and answers find their characters again."""

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
    """A question, a context with the characters of its tokens, a length and a stride."""
    question = draw(st.lists(st.integers(1, 9), max_size=6))
    widths = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), max_size=40))
    offsets, place = [], 0
    for gap, width in widths:
        offsets.append((place + gap, place + gap + width))
        place += gap + width
    context = list(range(1_000, 1_000 + len(offsets)))
    length = len(question) + 3 + draw(st.integers(1, 12))
    return question, context, offsets, length, draw(st.integers(1, 15))


def made(case) -> list[Window]:
    question, context, offsets, length, stride = case
    return windows(question, context, offsets, CLS, SEP, length, stride)


@given(cases())
@tries(200)
def test_each_token_is_in_a_window_and_the_best_in_one(case):
    question, context, offsets, length, stride = case
    found = made(case)
    seen, best = set(), []
    for window in found:
        tokens = len(window.ids)
        assert tokens <= length
        assert len(window.segments) == len(window.offsets) == len(window.best) == tokens
        assert window.ids[: window.begin] == [CLS, *question, SEP] and window.ids[-1] == SEP
        assert window.segments == [0] * window.begin + [1] * (window.count + 1)
        for place in range(tokens):
            token = place - window.begin + window.first
            if window.begin <= place < window.begin + window.count:
                assert window.ids[place] == context[token]
                assert tuple(window.offsets[place]) == offsets[token]
                seen.add(token)
                best += [token] if window.best[place] else []
            else:
                assert tuple(window.offsets[place]) == (NOWHERE, NOWHERE)
                assert not window.best[place]
    assert seen == set(range(len(context)))
    assert sorted(best) == list(range(len(context)))
    steps = {b.first - a.first for a, b in pairwise(found)}
    assert steps <= {min(stride, length - len(question) - 3)}
    assert found[-1].first + found[-1].count == len(context)


@given(cases())
@tries(100)
def test_the_best_window_has_most_around_a_token(case):
    """As run_squad.py says it: the smaller side, and a hundredth of the length; the first wins."""
    found = made(case)
    for token in range(len(case[1])):
        scores = []
        for window in found:
            before, behind = token - window.first, window.first + window.count - 1 - token
            inside = before >= 0 and behind >= 0
            scores.append(100 * min(before, behind) + window.count if inside else -1)
        best = [
            w.best[token - w.first + w.begin] if s >= 0 else False
            for w, s in zip(found, scores, strict=True)
        ]
        assert best == [n == scores.index(max(scores)) for n in range(len(found))]


@given(cases(), st.data())
@tries(200)
def test_an_answer_inside_a_window_finds_its_characters_again(case, data):
    _, context, offsets, _, _ = case
    if not context:
        return
    first = data.draw(st.integers(0, len(context) - 1))
    last = data.draw(st.integers(first, len(context) - 1))
    start, end = offsets[first][0], offsets[last][1]
    assert tokens_between(offsets, start, end) == (first, last)
    found = made(case)
    places = answer_positions(found, offsets, start, end)
    assert places.shape == (len(found), 2) and places.dtype == np.int64
    for window, (a, b) in zip(found, places, strict=True):
        if window.first <= first and last < window.first + window.count:
            assert (window.offsets[a, 0], window.offsets[b, 1]) == (start, end)
        else:
            assert (a, b) == (0, 0)


@given(cases(), st.integers(0, 100), st.integers(1, 30))
@tries(100)
def test_the_tokens_of_any_characters_are_all_that_hold_some_of_them(case, start, length):
    offsets, end = case[2], start + length
    holding = [n for n, (a, b) in enumerate(offsets) if a < end and b > start]
    assert tokens_between(offsets, start, end) == ((holding[0], holding[-1]) if holding else None)


def test_characters_of_no_token_are_no_answer():
    offsets = [(0, 3), (4, 7)]
    assert tokens_between(offsets, 3, 4) is None and tokens_between([], 0, 5) is None
    found = windows([1], [5, 6], offsets, CLS, SEP)
    assert answer_positions(found, offsets, 3, 4).tolist() == [[0, 0]]
    assert answer_positions(found, offsets, 3, 7).tolist() == [[4, 4]]
    assert answer_positions(found, offsets, 2, 5).tolist() == [[3, 4]]


def test_an_empty_context_has_one_window():
    (window,) = windows([1, 2], [], [], CLS, SEP)
    assert window.ids == [CLS, 1, 2, SEP, SEP] and window.segments == [0, 0, 0, 0, 1]
    assert answer_positions([window], [], 0, 3).tolist() == [[0, 0]]


def test_a_long_question_is_cut_and_one_without_room_is_refused():
    found = windows([7] * 100, [1, 2], [(0, 1), (1, 2)], CLS, SEP, max_length=70)
    assert found[0].ids.count(7) == 64 and len(found) == 1
    with pytest.raises(StudioError, match="leaves no space"):
        windows([7] * 100, [1], [(0, 1)], CLS, SEP, max_length=67)


@pytest.mark.parametrize("offsets, stride", [([(0, 1)], 1), ([(0, 1), (1, 2)], 0)])
def test_what_makes_no_window_is_refused(offsets, stride):
    with pytest.raises(ValueError, match="offsets"):
        windows([1], [1, 2], offsets, CLS, SEP, stride=stride)


def test_the_answers_of_published_questions_find_their_characters_again(assets):
    tokenizer = Tokenizer.from_folder(assets / "models" / "bert-tiny-splade-en")
    path = assets / "datasets" / "squad2-devhalf" / "dev-v2.0.json"
    questions = read_squad(Lines(path, "utf-8"), Remarks())[::120]
    exact = held = 0
    for one in questions:
        tokens = tokenizer.encode(one.context, max_length=100_000).tokens[1:-1]
        offsets = [(token.start, token.end) for token in tokens]
        asked = tokenizer.contents([one.question])[0]
        found = windows(asked, [t.id for t in tokens], offsets, CLS, SEP, 128, 48)
        for answer in one.answers:
            end = answer.start + len(answer.text)
            for window, (a, b) in zip(
                found, answer_positions(found, offsets, answer.start, end), strict=True
            ):
                if a:
                    start, stop = int(window.offsets[a, 0]), int(window.offsets[b, 1])
                    held += 1
                    exact += one.context[start:stop] == answer.text
                    assert answer.text in one.context[start:stop]
            assert (len(found) > 1) == (len(asked) + len(tokens) + 3 > 128)
    assert held > 100 and exact / held > 0.99


@pytest.mark.parametrize("separators", [1, 2])
def test_a_roberta_has_two_separators_between_question_and_context(separators):
    context, offsets = list(range(100, 130)), [(2 * n, 2 * n + 1) for n in range(30)]
    found = windows([7, 8], context, offsets, 1, 2, 20, 5, separators=separators)
    for window in found:
        assert window.ids[: window.begin] == [1, 7, 8, *[2] * separators]
        assert (
            window.ids[window.begin : window.begin + window.count]
            == context[window.first : window.first + window.count]
        )
        assert len(window.ids) <= 20
        assert window.segments == [0] * window.begin + [1] * (window.count + 1)
    assert found[0].count == 20 - 2 - 2 - separators
