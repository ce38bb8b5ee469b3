"""Parts that layers are made of; whole networks of them are in `test_families.py`."""

import numpy as np
import pytest
import torch

from engine.config.model import LayerParts
from engine.models.feed_forward import FEED_FORWARDS
from engine.models.relative import Rotary
from tests.engine.models.small import SPEC


def test_the_product_of_a_query_and_a_key_depends_on_their_distance():
    torch.manual_seed(1)
    rotary, (q, k) = Rotary(2, 100.0), torch.randn(2, 1, 8, dtype=torch.float64)
    near = [rotary(q, torch.tensor([n])) * rotary(k, torch.tensor([n + 3])) for n in (0, 7)]
    assert near[0].sum().item() == pytest.approx(near[1].sum().item())
    assert torch.equal(rotary(q, torch.tensor([0])), q)


def test_every_feed_forward_is_chosen_by_its_name():
    for name, part in FEED_FORWARDS.items():
        assert part(SPEC)(torch.ones(2, 16)).shape == (2, 16), name


def test_windows_and_bases_follow_the_pattern_of_layers():
    parts = LayerParts(window=3, global_every=2, rotary_base=100.0, global_rotary_base=1_000.0)
    assert [parts.window_at(n) for n in range(4)] == [None, 3, None, 3]
    assert [parts.rotary_base_at(n) for n in range(2)] == [1_000.0, 100.0]
    assert LayerParts().window_at(0) is None
    assert np.all([LayerParts(window=5, global_every=3).window_at(n) == 5 for n in (1, 2, 4)])
