"""Dropout by gaps: the share, the mean and the gradient of torch's own."""

import math

import numpy as np
import pytest
import torch

from engine.models.fast import dropout
from engine.models.fast.dropout import Dropout, dropped_indices


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share):
    torch.manual_seed(11)
    out = Dropout(share)(torch.ones(1000, 1000))
    dropped = (out == 0).float().mean().item()
    assert dropped == pytest.approx(share, abs=0.002)
    assert out.mean().item() == pytest.approx(1, abs=0.003)
    assert len(out.unique()) == 2
    rows = (out == 0).float().mean(1)
    assert rows.std().item() == pytest.approx(math.sqrt(share * (1 - share) / 1000), rel=0.1)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_dropout_drops_the_same_values_from_the_gradient(shape, dtype):
    torch.manual_seed(11)
    x = torch.ones(shape, dtype=dtype, requires_grad=True)
    out = Dropout(0.4)(x)
    out.sum().backward()
    assert out.dtype == dtype
    assert torch.equal(x.grad, out.detach())


@pytest.mark.parametrize("share", [0.0, 1e-7, 0.999999])
def test_a_dropout_at_the_edge_is_still_one(share):
    out = Dropout(share)(torch.ones(1000))
    assert out.isfinite().all()


def test_dropout_follows_the_seed_alone():
    x = torch.ones(100)
    torch.manual_seed(4)
    first = Dropout(0.3)(x)
    torch.manual_seed(4)
    assert torch.equal(first, Dropout(0.3)(x))


def test_what_is_drawn_goes_on_until_it_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in a billion times the gaps that are drawn at first are too short."""

    class Unlucky:
        def random(self, number: int, dtype: type) -> np.ndarray:
            return np.zeros(number, dtype)  # of which each gap is 0, so that every value is dropped

    monkeypatch.setattr(dropout._source, "draws", Unlucky(), raising=False)
    assert torch.equal(dropped_indices(5000, 0.1), torch.arange(5000))
