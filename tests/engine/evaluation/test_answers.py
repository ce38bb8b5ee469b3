"""The span with the highest score is found, and compared with no answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.tokenized.windows import Window, answer_positions, windows
from engine.evaluation.answers import MAX_SCORE, choose
from tests.often import tries

CONTEXT = "".join(f"{chr(97 + n % 26)}{n} " for n in range(30))
WORDS = CONTEXT.split()
OFFSETS = [(n, n + len(w)) for w in WORDS for n in [CONTEXT.index(f"{w} ")]]
score = st.integers(-40, 40).map(lambda n: n / 8)


def make_windows(length: int = 15, stride: int = 4) -> list[Window]:
    return windows([1, 2], list(range(30)), OFFSETS, 101, 102, length, stride)


@st.composite
def windows_with_logits(draw: st.DrawFn) -> tuple[list[Window], list[np.ndarray], list[np.ndarray]]:
    """Windows, and logits of more positions than they have."""
    windows = make_windows(draw(st.integers(6, 40)), draw(st.integers(1, 12)))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    starts, ends = (random.integers(-40, 40, (len(windows), 50)) / 8 for _ in range(2))
    return windows, list(starts), list(ends)


@given(windows_with_logits(), st.integers(1, 12), st.integers(1, 25))
@tries(100)
def test_the_best_spans_equal_those_of_an_exhaustive_search(case, max_length, count):
    windows, starts, ends = case
    candidates = []
    for window, start, end in zip(windows, starts, ends, strict=True):
        for a in range(window.begin, window.begin + window.count):
            for b in range(a, min(a + max_length, window.begin + window.count)):
                if window.is_max_context[a]:
                    span = int(window.offsets[a, 0]), int(window.offsets[b, 1])
                    candidates.append((-start[a] - end[b], *span))
    choice = choose(windows, starts, ends, max_length, count)
    assert [-s.score for s in choice.spans] == [item[0] for item in sorted(candidates)[:count]]
    assert {(-s.score, s.start, s.end) for s in choice.spans} <= set(candidates)
    assert len({(s.start, s.end) for s in choice.spans}) == len(choice.spans)
    null = min(a[0] + b[0] for a, b in zip(starts, ends, strict=True))
    assert choice.null_score == null
    assert choice.doubt == null - choice.spans[0].score


@given(st.integers(0, 29), st.integers(1, 4))  # three tokens follow each token in its best window
@tries(60)
def test_the_selected_answer_is_a_part_of_the_context(first, count):
    last = min(first + count, len(WORDS)) - 1
    start, end = OFFSETS[first][0], OFFSETS[last][1]
    windows = make_windows()
    starts, ends = np.full((2, len(windows), 15), -10.0)
    for number, (a, b) in enumerate(answer_positions(windows, OFFSETS, start, end)):
        starts[number, a] = ends[number, b] = 5 if a else 0
    assert answer_positions(windows, OFFSETS, start, end).any()
    choice = choose(windows, starts, ends)
    assert choice.answer(CONTEXT, threshold=math.inf) == CONTEXT[start:end]


def test_no_answer_is_given_above_the_threshold():
    windows = make_windows(40)
    starts, ends = np.zeros((2, 1, 40))
    starts[0, 0], starts[0, 4], ends[0, 5] = 3, 1, 1
    choice = choose(windows, starts, ends)
    assert choice.doubt == 1
    assert choice.answer(CONTEXT) == choice.answer(CONTEXT, 0.99) == ""
    assert choice.answer(CONTEXT, 1.0) == "a0 b1"


def test_non_finite_logits_give_finite_scores():
    for bad in [math.nan, math.inf, -math.inf]:
        windows = make_windows()
        choice = choose(windows, np.full((len(windows), 15), bad), np.full((len(windows), 15), bad))
        assert math.isfinite(choice.doubt) and all(math.isfinite(s.score) for s in choice.spans)
        assert isinstance(choice.answer(CONTEXT), str)


def test_without_context_there_is_no_answer():
    windows_ = windows([1], [], [], 101, 102)
    choice = choose(windows_, np.zeros((1, 4)), np.zeros((1, 4)))
    assert choice.spans == () and choice.doubt > MAX_SCORE
    assert choice.answer("", math.inf) == ""
    assert math.isfinite(choose([], [], []).doubt)


def test_tokens_without_characters_are_no_answer():
    windows_ = windows([1], [5, 6, 7], [(0, 2), (2, 2), (3, 4)], 101, 102)
    choice = choose(windows_, np.zeros((1, 7)), np.zeros((1, 7)))
    assert {(span.start, span.end) for span in choice.spans} == {(0, 2), (0, 4), (2, 4), (3, 4)}


def test_too_few_logits_are_refused():
    windows = make_windows()
    with pytest.raises(ValueError, match="logits"):
        choose(windows, np.zeros((len(windows), 14)), np.zeros((len(windows), 14)))
    with pytest.raises(ValueError, match="zip"):
        choose(windows, np.zeros((1, 15)), np.zeros((1, 15)))
