"""Nested-tensor attention: CPU numbers, fewer launches, no synchronisation; and its choice."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from engine.messages.events import Prepared
from engine.models.fast.unpadded import UnpaddedLayout
from engine.models.heads import Heads
from engine.models.network import Network
from engine.system.precision import AttentionTimes
from engine.training.device import fastest
from engine.training.device.fastest import choose_attention, measure_attention
from engine.training.device.machine import Machine
from engine.training.network import set_dropout
from tests.engine.models.fast.test_unpadded import FAMILIES
from tests.engine.training import small
from tests.simulated.attention import as_on_a_gpu
from tests.simulated.device import Counts, counted, device, parameters_keep_their_identity
from tests.simulated.test_training import CLOSE, FEW, check, on_device

__all__ = ["on_device"]
LENGTHS = torch.tensor([20, 17, 9, 3])


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with as_on_a_gpu(), parameters_keep_their_identity():
        yield


def train_step(
    network: Network, there: torch.device, short: torch.dtype = torch.float32
) -> tuple[float, list[torch.Tensor], Counts]:
    """Loss and gradients of a batch on a device, optionally in reduced precision."""
    drawn = torch.Generator().manual_seed(5)
    tokens = torch.randint(5, 40, (4, 20), generator=drawn)
    real = torch.arange(20) < LENGTHS[:, None]
    tokens[~real] = 1  # RoBERTa's padding
    inputs = [item.to(there) for item in (tokens, torch.zeros_like(tokens), real)]
    labels = torch.tensor([0, 1, 1, 0]).to(there)
    plan = network.unpad(LENGTHS.numpy(), 20, None).map_tensors(lambda tensor: tensor.to(there))
    network.zero_grad()
    with (
        counted() as counts,
        torch.autocast(there.type, dtype=short, enabled=short != torch.float32),
    ):
        loss = F.cross_entropy(network.logits(*inputs, plan), labels)
        loss.backward()
    gradients = [p.grad.cpu().clone() for p in network.parameters() if p.grad is not None]
    return float(loss.detach()), gradients, counts


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_learns_the_same_without_a_wait(family):
    torch.manual_seed(3)
    network = Network(FAMILIES[family], Heads(outputs=2)).train()
    set_dropout(network, 0.0)  # that of the head too
    loss, gradients, _ = train_step(network, torch.device("cpu"))
    network = deepcopy(network).to(device())
    _, _, by_rectangles = train_step(network, device())
    network.encoder.nested = True
    their_loss, theirs, nested = train_step(network, device())
    assert their_loss == pytest.approx(loss, abs=CLOSE)
    for a, other in zip(gradients, theirs, strict=True):
        assert torch.allclose(a, other, atol=CLOSE)
    assert not nested.waits
    assert bool(nested.launches["_efficient_attention_forward"]) == (
        network.encoder.relative is None
    )
    if network.encoder.relative is None:
        assert nested.launches.total() < by_rectangles.launches.total()


@pytest.mark.parametrize("short", [torch.bfloat16, torch.float16])
def test_the_kernels_get_short_numbers(short):
    torch.manual_seed(3)
    network = Network(FAMILIES["bert"], Heads(outputs=2)).train().to(device())
    expected, _, _ = train_step(network, device())
    network.encoder.nested = True
    loss, _, counts = train_step(network, device(), short)
    assert loss != expected and loss == pytest.approx(expected, abs=0.02)
    assert counts.launches["_efficient_attention_forward"] and not counts.waits
    assert {*counts.products} == {short}


def test_a_whole_run_uses_the_measured_attention(on_device, tmp_path, monkeypatch):
    monkeypatch.setattr(fastest, "MEASURED_ON", ("sim",))
    monkeypatch.setattr(fastest, "measure_attention", lambda *_: faster("nested"))
    run, steps = check(small.classifying(tmp_path, **FEW), tmp_path, on_device)
    assert all(step.launches["_efficient_attention_backward"] for step in steps)
    (prepared,) = (event for event in run.events_after(0)[0] if isinstance(event, Prepared))
    assert prepared.environment["attention"] == "nested"


def faster(way: str) -> AttentionTimes:
    return AttentionTimes("here", {"padded blocks": 2.0, "nested": 2.0} | {way: 1.0})


MACHINE = Machine(torch.device("cpu"), "fp32", 1)


def test_the_quicker_way_is_measured_once_and_taken(monkeypatch):
    monkeypatch.setattr(fastest, "MEASURED_ON", ("sim",))
    monkeypatch.setattr(fastest, "TIMED", 1)
    machine = replace(MACHINE, device=device(), precision_name="bf16")
    encoder = Network(FAMILIES["bert"], Heads(outputs=2)).encoder
    with counted() as counts:
        result = measure_attention(encoder, machine)
    assert counts.launches["_efficient_attention_backward"]
    assert all(result.seconds.values()) and "bf16" in result.key
    with counted() as counts:
        assert measure_attention(encoder, machine) == result
    assert not counts.launches
    monkeypatch.setattr(fastest, "measure_attention", lambda *_: faster("nested"))
    assert choose_attention(encoder, machine) == "nested" and encoder.nested
    assert (
        choose_attention(encoder, machine, "padded blocks") == "padded blocks"
        and not encoder.nested
    )
    assert choose_attention(encoder, MACHINE, "nested") == "", "no such kernels there"
    distances = Network(FAMILIES["deberta-v2"], Heads(outputs=2)).encoder
    assert choose_attention(distances, machine) == ""


def test_a_way_that_the_device_refuses_is_not_taken(monkeypatch):
    monkeypatch.setattr(fastest, "TIMED", 1)
    refuse = RuntimeError("no kernel for heads of this size")
    monkeypatch.setattr(UnpaddedLayout, "gather", refused(refuse))
    encoder = Network(FAMILIES["roberta"], Heads(outputs=2)).encoder
    result = measure_attention(encoder, replace(MACHINE, device=device()))
    assert result.seconds["nested"] == 0 < result.seconds["padded blocks"]
    assert result.fastest == "padded blocks"


def refused(error: RuntimeError):  # type: ignore[no-untyped-def]
    gathered = UnpaddedLayout.gather

    def one(self, *given):  # type: ignore[no-untyped-def]
        if self.spans is not None:
            raise error
        return gathered(self, *given)

    return one


def test_the_two_ways_have_to_differ_clearly():
    assert [faster(way).fastest for way in ("nested", "padded blocks")] == [
        "nested",
        "padded blocks",
    ]
    near = AttentionTimes("here", {"padded blocks": 1.05, "nested": 1.0})
    assert near.fastest == "padded blocks"
