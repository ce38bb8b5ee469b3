"""Products with oneDNN have torch's outputs and gradients."""

import copy

import pytest
import torch

from engine.models.fast import linear as fast
from engine.models.fast.gradient_sum import GradientSum, index_weights


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_outputs_and_gradients_are_those_of_torch(monkeypatch, in_place, bias):
    monkeypatch.setattr(fast, "MIN_ONEDNN", 0)
    monkeypatch.setattr(fast, "MIN_WEIGHTS", 0 if in_place else 2**62)
    torch.manual_seed(0)
    ours = fast.Linear(24, 40, bias=bias)
    theirs = torch.nn.Linear(24, 40, bias=bias)
    theirs.load_state_dict(copy.deepcopy(ours.state_dict()))
    fast.use_onednn(ours)
    gradients = GradientSum(index_weights(ours.parameters()))
    for shape in ((7, 24), (3, 5, 24), (1, 24)):
        x = torch.randn(shape)
        inputs = [x.clone().requires_grad_() for _ in range(2)]
        with gradients.half():
            mine = ours(inputs[0])
            mine.square().sum().backward()
        gradients.finish()
        expected = theirs(inputs[1])
        expected.square().sum().backward()
        assert torch.allclose(mine, expected, atol=1e-5)
        assert torch.allclose(inputs[0].grad, inputs[1].grad, atol=1e-4)
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.allclose(a.grad, b.grad, atol=1e-3)
        with torch.inference_mode():
            assert torch.allclose(ours(x), expected, atol=1e-5)
    assert ours(torch.randn(2, 24)).dtype == torch.float32
    wide = ours.double()
    assert torch.equal(
        wide(x.double()), torch.nn.functional.linear(x.double(), wide.weight, wide.bias)
    )
