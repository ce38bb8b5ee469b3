"""AdamW: the trained parameters, their learning rates, and the stored state."""

from types import SimpleNamespace

import pytest
import torch
import transformers
from torch import nn

from engine.config.families.bert import BertSpec
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.models.heads import Heads
from engine.models.network import Network
from engine.training import step
from engine.training.optimiser import (
    adamw,
    freeze,
    layer_index,
    learning_rate_at,
    load_state,
    set_learning_rate,
)
from engine.training.row_moments import MOMENTS, RowMoments, dense_moments
from engine.training.step import clip_gradients, total_gradient_norm
from tests.engine.training.small import NETWORK


def test_optimiser_state_of_another_network_is_refused():
    network = Network(NETWORK, Heads(outputs=2))
    optimiser = adamw(network, TrainingSpec())
    with pytest.raises(StudioError, match=r"unexpected classes.dense.bias"):
        load_state(optimiser, network, {"classes.dense.bias|step": torch.ones(())})


def test_freezing_all_layers_leaves_the_heads_trainable():
    network = Network(NETWORK, Heads(outputs=2))
    freeze(network, 99)
    trainable = {name for name, p in network.named_parameters() if p.requires_grad}
    assert trainable and all(layer_index(name, NETWORK) == NETWORK.layers + 1 for name in trainable)
    assert adamw(network, TrainingSpec()).param_groups
    freeze(network, 0)
    assert all(p.requires_grad for p in network.parameters())


def test_layer_decay_lowers_the_rate_of_lower_layers():
    network = Network(NETWORK, Heads(outputs=2))
    optimiser = adamw(network, TrainingSpec(layer_lr_decay=0.5, weight_decay=0.1))
    set_learning_rate(optimiser, 0.8)
    rates, decays = {}, {}
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            rates[parameter], decays[parameter] = group["lr"], group["weight_decay"]
    for name, parameter in network.named_parameters():
        steps_down = NETWORK.layers + 1 - layer_index(name, NETWORK)
        assert rates[parameter] == pytest.approx(0.8 * 0.5**steps_down), name
        assert decays[parameter] == (0.1 if parameter.dim() > 1 else 0.0), name
    assert len(rates) == len(list(network.parameters()))


@pytest.mark.parametrize("warmup_ratio", [0.0, 0.1, 0.37, 1.0])
@pytest.mark.parametrize(
    "ours, theirs",
    [("linear", "linear"), ("cosine", "cosine"), ("constant", "constant_with_warmup")],
)
def test_schedules_match_transformers(ours, theirs, warmup_ratio):
    steps = 53
    training = TrainingSpec.model_validate(
        {"learning_rate": 3e-4, "warmup_ratio": warmup_ratio, "lr_schedule": ours}
    )
    warmup_steps = steps
    if warmup_ratio < 1:
        trainer = SimpleNamespace(warmup_steps=warmup_ratio)
        warmup_steps = transformers.TrainingArguments.get_warmup_steps(trainer, steps)
    optimiser = torch.optim.SGD([torch.zeros(1)], lr=3e-4)
    schedule = transformers.get_scheduler(theirs, optimiser, warmup_steps, steps)
    for number in range(steps):
        rate = learning_rate_at(number, steps, training)
        if ours != "linear" and number >= warmup_steps:
            assert rate == schedule.get_last_lr()[0]
        assert rate == pytest.approx(schedule.get_last_lr()[0], rel=1e-15)
        optimiser.step()
        schedule.step()


def tiny_with_gradients(is_sparse: bool) -> Network:
    torch.manual_seed(0)
    spec = BertSpec(
        vocab_size=60, hidden_size=16, layers=1, heads=2, intermediate_size=32, max_positions=32
    )
    network = Network(spec, Heads(outputs=2)).train()
    if is_sparse:
        network.use_sparse_token_gradient()
    torch.manual_seed(1)
    tokens = torch.randint(0, 60, (3, 8))
    network.logits(tokens, torch.zeros_like(tokens)).pow(2).sum().backward()
    return network


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("limit", [0.0, 1e-3, 1e3])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_clipping_matches_torch(is_sparse, limit, threads, monkeypatch):
    monkeypatch.setattr(step, "MIN_PARALLEL", 0)
    training = TrainingSpec(learning_rate=1e-2, max_grad_norm=limit)
    ours, theirs = tiny_with_gradients(is_sparse), tiny_with_gradients(False)
    before = [parameter.detach().clone() for parameter in theirs.parameters()]
    optimiser = adamw(ours, training)
    norm = total_gradient_norm(ours, optimiser, threads)
    clip_gradients(ours, optimiser, norm, limit)
    expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), limit or float("inf"))
    torch.testing.assert_close(norm, expected, rtol=1e-6, atol=0)
    optimiser.step()
    adamw(theirs, training).step()
    for own, other, old in zip(ours.parameters(), theirs.parameters(), before, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1e-7)
        if own in optimiser.row_moments:
            continue
        state = optimiser.state[own]["exp_avg"]
        torch.testing.assert_close(state, 0.1 * other.grad, rtol=1e-5, atol=0)
        assert not torch.equal(own, old) or not other.grad.any()


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_row_moments_equal_dense_adamw_to_the_last_bit(decay):
    """Also after a save, which may be loaded as rows or as a dense table."""
    torch.manual_seed(0)
    tables = [nn.Embedding(3000, 16) for _ in range(3)]
    for table in tables[1:]:
        table.load_state_dict(tables[0].state_dict())
    sparse, reloaded, dense = (table.weight for table in tables)
    options = {"lr": 1e-3, "weight_decay": decay}
    theirs = torch.optim.AdamW([dense], **options, fused=True)
    group = {**theirs.defaults}
    moments, divisor = RowMoments(sparse), torch.tensor(1.7)
    assert not dense_moments(moments.tensors(), sparse)["exp_avg"].any()
    for number in range(6):
        rows = torch.randperm(2000)[:700].sort().values
        values = torch.randn(len(rows), 16)
        gradient = torch.sparse_coo_tensor(
            rows[None], values, sparse.shape, is_coalesced=True, check_invariants=True
        )
        moments.update(gradient, group, divisor)
        dense.grad, theirs.grad_scale = gradient.to_dense(), divisor
        theirs.step()
        assert torch.equal(sparse, dense)
        if number == 3:
            saved = {name: tensor.clone() for name, tensor in moments.tensors().items()}
            reloaded.data.copy_(sparse)
            continued = RowMoments(reloaded)
            continued.load(dense_moments(saved, sparse))
            moments = RowMoments(sparse)
            moments.load(saved)
        if number > 3:
            continued.update(gradient, group, divisor)
            assert torch.equal(reloaded, dense)
    state = dense_moments(moments.tensors(), sparse)
    assert all(torch.equal(state[name], theirs.state[dense][name]) for name in MOMENTS)
    assert 1500 < len(moments.rows) <= 2000  # not those of rows that were never read


def test_sharded_networks_are_clipped_by_torch(monkeypatch):
    """Collective calls need the same order on all ranks, so a single thread makes them."""
    network = tiny_with_gradients(False)
    optimiser = adamw(network, TrainingSpec(learning_rate=1e-2))
    monkeypatch.setattr(step, "MIN_PARALLEL", 0)
    monkeypatch.setattr(step, "is_sharded", lambda network: True)
    monkeypatch.setattr(step, "ThreadPoolExecutor", None)
    norm = total_gradient_norm(network, optimiser, 2)
    clip_gradients(network, optimiser, norm, 1e-3)
    assert optimiser.grad_scale is None
    assert float(total_gradient_norm(network, optimiser, 2)) == pytest.approx(1e-3, rel=1e-3)
