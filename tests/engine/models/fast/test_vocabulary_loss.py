"""Cross-entropy over a vocabulary, computed in chunks of rows."""

from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F

from engine.models.fast.gradient_sum import GradientBuffer, GradientSum
from engine.models.fast.vocabulary_loss import CHUNK, cross_entropy


@pytest.mark.parametrize("rows", [0, 5, 2 * CHUNK + 3])
def test_a_loss_in_chunks_equals_that_of_torch(rows):
    torch.manual_seed(2)
    inputs = [torch.randn(s, dtype=torch.float64) for s in ((rows, 8), (50, 8), (50,))]
    inputs = [tensor.mul_(3).requires_grad_() for tensor in inputs]
    targets = torch.randint(0, 50, (rows,))
    hidden, decoder, bias = inputs
    ours = cross_entropy(hidden, decoder, bias, targets, 7)
    theirs = F.cross_entropy(F.linear(hidden, decoder, bias), targets, reduction="sum") / 7
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6)
    for factor in (1.0, 2.5):
        gradients = torch.autograd.grad(factor * ours, inputs, retain_graph=True)
        expected = torch.autograd.grad(factor * theirs, inputs, retain_graph=True)
        for a, other in zip(gradients, expected, strict=True):
            assert torch.allclose(a, other, atol=1e-4, rtol=1e-5)
    with torch.no_grad():
        assert cross_entropy(hidden, decoder, bias, targets, 7).item() == pytest.approx(ours.item())


@pytest.mark.parametrize("rows", [0, 5, CHUNK + 3, 2 * CHUNK + 3], ids=str)
@pytest.mark.parametrize("has_gradient", [False, True])
def test_a_summed_decoder_gradient_equals_that_of_torch(rows, has_gradient):
    """In one chunk, in two cached for the backward pass, and in more than fit in the cache."""
    torch.manual_seed(2)
    width = 2 * CHUNK
    inputs = [torch.randn(s, dtype=torch.float64) for s in ((rows, width), (9, width), (9,))]
    hidden, decoder, bias = (tensor.div_(9).requires_grad_() for tensor in inputs)
    targets = torch.randint(0, 9, (rows,))
    before = torch.randn_like(decoder) if has_gradient else None
    theirs = F.cross_entropy(F.linear(hidden, decoder, bias), targets, reduction="sum") / 7
    expected = torch.autograd.grad(2.5 * theirs, (hidden, decoder, bias))
    buffer = GradientBuffer()
    for factor in (1.0, 2.5):
        decoder.grad = before if before is None else before.clone()
        hidden.grad = bias.grad = None
        with GradientSum({decoder: 0}).half():
            ours = cross_entropy(hidden, decoder, bias, targets, 7, buffer)
            (factor * ours).backward()
        result = (hidden.grad, decoder.grad if before is None else decoder.grad - before, bias.grad)
        for a, other in zip(result, expected, strict=True):
            torch.testing.assert_close(a, other * factor / 2.5, rtol=1e-5, atol=1e-6)


def test_a_frozen_decoder_has_no_gradient():
    hidden, decoder = torch.randn(5, 8, requires_grad=True), torch.randn(9, 8)
    for summing in (nullcontext(), GradientSum({decoder: 0}).half()):
        with summing:
            cross_entropy(hidden, decoder, torch.zeros(9), torch.arange(5), 1).backward()
    assert decoder.grad is None
    assert hidden.grad.any()


@pytest.mark.parametrize("rows", [5, CHUNK, CHUNK + 3])
def test_bfloat16_gives_nearly_the_same_loss(rows):
    torch.manual_seed(2)
    inputs = [torch.randn(s).bfloat16().float() for s in ((rows, 8), (50, 8), (50,))]
    inputs = [tensor.requires_grad_() for tensor in inputs]
    targets = torch.randint(0, 50, (rows,))
    full = cross_entropy(*inputs, targets, 7)
    with torch.autocast("cpu", torch.bfloat16):
        reduced = cross_entropy(*inputs, targets, 7)
    assert reduced.item() == pytest.approx(full.item(), rel=1e-2)
    for a, other in zip(
        torch.autograd.grad(reduced, inputs), torch.autograd.grad(full, inputs), strict=True
    ):
        assert a.shape == other.shape
        assert torch.allclose(a, other, atol=2e-2 * float(other.abs().max()))


def test_a_loss_of_extreme_logits_is_finite():
    hidden = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    decoder = torch.tensor([[300.0], [-300.0], [0.0]])
    loss = cross_entropy(hidden, decoder, torch.zeros(3), torch.tensor([1, 1]), 1)
    loss.backward()
    assert loss.item() == pytest.approx(600)
    assert hidden.grad.isfinite().all()
