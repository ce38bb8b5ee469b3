"""Sequences of similar length share a block."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.models.fast.padded_blocks import (
    COST,
    GPU_COST,
    WIDTH_STEP,
    AttentionShape,
    group_lengths,
    plan_blocks,
)
from tests.often import tries


def cost(lengths: np.ndarray, heads: int, blocks: list[tuple[int, int]]) -> int:
    widths = -(-lengths // WIDTH_STEP) * WIDTH_STEP
    return sum((b - a) * heads * int(widths[b - 1]) ** 2 + COST for a, b in blocks)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=8).map(sorted), st.sampled_from([1, 12]))
@tries(100)
def test_no_other_blocks_would_cost_less(sorted_lengths, heads):
    lengths = np.array(sorted_lengths)
    best = cost(lengths, heads, group_lengths(lengths, heads))
    count = len(lengths)
    for choice in range(1 << (count - 1)):
        ends = [n + 1 for n in range(count - 1) if choice >> n & 1] + [count]
        assert best <= cost(lengths, heads, list(zip([0, *ends[:-1]], ends, strict=True)))


@given(st.lists(st.integers(1, 90), min_size=1, max_size=30).map(sorted), st.integers(1, 20_000))
@tries(100)
def test_blocks_cover_all_sequences_within_the_limit(sorted_lengths, limit):
    lengths = np.array(sorted_lengths)
    blocks = group_lengths(lengths, 2, limit)
    assert [n for a, b in blocks for n in range(a, b)] == list(range(len(lengths)))
    assert all(b - a == 1 or (b - a) * 2 * lengths[b - 1] ** 2 <= limit for a, b in blocks)


def test_a_gpu_gets_fewer_blocks():
    lengths = np.arange(4, 56)
    blocks = [len(group_lengths(lengths, 12, overhead=n)) for n in (COST, GPU_COST)]
    assert blocks[0] > 2 and blocks[1] == 1


def test_packed_networks_get_blocks_of_equal_lengths_without_padding():
    lengths = np.array([3, 3, 4, 9, 9, 9])
    positions = np.concatenate([np.arange(length) for length in lengths])
    blocks = plan_blocks(lengths, positions, AttentionShape(2, fixed_widths=True))
    assert blocks.keys.shapes == ((2, 3), (1, 4), (3, 9))
    assert not len(blocks.keys.padding) and blocks.biases == {None: (None,) * 3}
