"""Parts of a batch: they hold every example once, and less padding."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.tasks.learner import Batch
from engine.tasks.widths import COST, parts_of, width_of


def cost(lengths: np.ndarray, parts: list[slice]) -> int:
    return sum((p.stop - p.start) * width_of(lengths[p].max()) + COST for p in parts)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=9).map(sorted))
def test_no_other_parts_would_cost_less(rising):
    lengths = np.array(rising)
    best = cost(lengths, parts_of(lengths))
    count = len(lengths)
    for choice in range(1 << (count - 1)):
        ends = [n + 1 for n in range(count - 1) if choice >> n & 1] + [count]
        parts = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        assert best <= cost(lengths, parts)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=40), st.integers(0, 7))
def test_parts_are_no_larger_than_asked_and_leave_nobody_out(lengths, most):
    parts = parts_of(np.array(lengths), most)
    assert [n for part in parts for n in range(part.start, part.stop)] == list(range(len(lengths)))
    assert not most or all(part.stop - part.start <= most for part in parts)


@pytest.mark.parametrize("endings", [1, 3])
@pytest.mark.parametrize("most", [0, 2])
def test_parts_keep_tokens_targets_and_places(endings, most):
    lengths = np.repeat([5, 7, 60, 61], endings)
    width = width_of(61)
    real = torch.arange(width) < torch.from_numpy(lengths)[:, None]
    tokens = torch.arange(real.numel()).reshape(real.shape) * real
    places = torch.tensor([n * width + k for n in range(len(lengths)) for k in (1, 4)])
    batch = Batch(
        tokens,
        torch.zeros_like(tokens),
        real,
        targets=tokens.flatten()[places],
        places=places,
        endings=endings,
    )
    many = Batch(**(batch._asdict() | {"tokens": tokens, "endings": endings}))
    parts = many.parts(most)
    if endings == 3 or most:
        assert len(parts) == 2
        assert [part.tokens.size(1) for part in parts] == [8, 64]
    for part in parts:
        assert torch.equal(part.tokens.flatten()[part.places], part.targets)
    assert sum(len(part.targets) for part in parts) == len(places)
    assert sum(part.size for part in parts) == 4
    assert sum(part.token_count for part in parts) == batch.token_count
