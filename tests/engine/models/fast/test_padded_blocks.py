"""Sequences of similar length share a block."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.models.fast.padded_blocks import COST, GPU_COST, WIDTH_STEP, group_lengths
from tests.often import tries


def cost(lengths: np.ndarray, heads: int, parts: list[tuple[int, int]]) -> int:
    widths = -(-lengths // WIDTH_STEP) * WIDTH_STEP
    return sum((b - a) * heads * int(widths[b - 1]) ** 2 + COST for a, b in parts)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=8).map(sorted), st.sampled_from([1, 12]))
@tries(100)
def test_no_other_rectangles_would_cost_less(rising, heads):
    lengths = np.array(rising)
    best = cost(lengths, heads, group_lengths(lengths, heads))
    count = len(lengths)
    for choice in range(1 << (count - 1)):
        ends = [n + 1 for n in range(count - 1) if choice >> n & 1] + [count]
        assert best <= cost(lengths, heads, list(zip([0, *ends[:-1]], ends, strict=True)))


@given(st.lists(st.integers(1, 90), min_size=1, max_size=30).map(sorted), st.integers(1, 20_000))
@tries(100)
def test_blocks_cover_all_sequences_within_the_limit(rising, most):
    lengths = np.array(rising)
    parts = group_lengths(lengths, 2, most)
    assert [n for a, b in parts for n in range(a, b)] == list(range(len(lengths)))
    assert all(b - a == 1 or (b - a) * 2 * lengths[b - 1] ** 2 <= most for a, b in parts)


def test_a_gpu_gets_fewer_blocks():
    lengths = np.arange(4, 56)
    parts = [len(group_lengths(lengths, 12, overhead=each)) for each in (COST, GPU_COST)]
    assert parts[0] > 2 and parts[1] == 1
