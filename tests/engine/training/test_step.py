"""Gradient norm and clipping equal torch's in every configuration."""

import pytest
import torch

from engine.config.families.bert import BertSpec
from engine.config.training import TrainingSpec
from engine.models.heads import Heads
from engine.models.network import Network
from engine.training import step
from engine.training.optimiser import adamw
from engine.training.step import clip_gradients, total_gradient_norm


def tiny(keeps: bool) -> Network:
    torch.manual_seed(0)
    spec = BertSpec(
        vocab_size=60, hidden_size=16, layers=1, heads=2, intermediate_size=32, max_positions=32
    )
    network = Network(spec, Heads(outputs=2)).train()
    if keeps:
        network.reuse_token_gradient()
    torch.manual_seed(1)
    for _ in range(2):  # the rows of the first batch must be zeroed
        network.zero_grad(set_to_none=True)
        tokens = torch.randint(0, 60, (3, 8))
        network.logits(tokens, torch.zeros_like(tokens)).pow(2).sum().backward()
    return network


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("limit", [0.0, 1e-3, 1e3])
@pytest.mark.parametrize("keeps", [False, True])
def test_clipping_is_torchs(
    keeps: bool, limit: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "MIN_PARALLEL", 0)
    training = TrainingSpec(learning_rate=1e-2, max_grad_norm=limit)
    ours, theirs = tiny(keeps), tiny(False)
    before = [parameter.detach().clone() for parameter in theirs.parameters()]
    optimiser = adamw(ours, training)
    norm = total_gradient_norm(ours, optimiser, threads)
    clip_gradients(ours, optimiser, norm, limit)
    wanted = torch.nn.utils.clip_grad_norm_(theirs.parameters(), limit or float("inf"))
    torch.testing.assert_close(norm, wanted, rtol=1e-6, atol=0)
    optimiser.step()
    adamw(theirs, training).step()
    for own, other, old in zip(ours.parameters(), theirs.parameters(), before, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1e-7)
        state = optimiser.state[own]["exp_avg"]
        torch.testing.assert_close(state, 0.1 * other.grad, rtol=1e-5, atol=0)
        assert not torch.equal(own, old) or not other.grad.any()


def test_slices_of_a_network_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collective calls must be made in the same order, so by one thread."""
    network = tiny(False)
    optimiser = adamw(network, TrainingSpec(learning_rate=1e-2))
    monkeypatch.setattr(step, "MIN_PARALLEL", 0)
    monkeypatch.setattr(step, "is_sharded", lambda network: True)
    monkeypatch.setattr(step, "ThreadPoolExecutor", None)
    norm = total_gradient_norm(network, optimiser, 2)
    clip_gradients(network, optimiser, norm, 1e-3)
    assert optimiser.grad_scale is None
    assert float(total_gradient_norm(network, optimiser, 2)) == pytest.approx(1e-3, rel=1e-3)
