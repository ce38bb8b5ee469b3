"""Nested-tensor attention: results of the CPU, fewer launches, no synchronisation; its choice."""

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
from tests.simulated.attention import kernel_enabled
from tests.simulated.device import Counts, count_operations, device, keep_parameters
from tests.simulated.test_training import CLOSE, SHORT, check, on_device

__all__ = ["on_device"]
LENGTHS = torch.tensor([20, 17, 9, 3])
LIKE_BERT = ("distilbert", "electra", "roberta")
PARAMS = [pytest.param(f, marks=pytest.mark.long) if f in LIKE_BERT else f for f in FAMILIES]


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with kernel_enabled(), keep_parameters():
        yield


def train_step(
    network: Network, target: torch.device, dtype: torch.dtype = torch.float32
) -> tuple[float, list[torch.Tensor], Counts]:
    """Loss and gradients of a batch on a device, optionally in reduced precision."""
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(5, 40, (4, 20), generator=generator)
    mask = torch.arange(20) < LENGTHS[:, None]
    tokens[~mask] = 1  # RoBERTa's padding
    inputs = [item.to(target) for item in (tokens, torch.zeros_like(tokens), mask)]
    labels = torch.tensor([0, 1, 1, 0]).to(target)
    plan = network.unpad(LENGTHS.numpy(), 20, None).map_tensors(lambda tensor: tensor.to(target))
    network.zero_grad()
    with (
        count_operations() as counts,
        torch.autocast(target.type, dtype=dtype, enabled=dtype != torch.float32),
    ):
        loss = F.cross_entropy(network.logits(*inputs, plan), labels)
        loss.backward()
    gradients = [p.grad.cpu().clone() for p in network.parameters() if p.grad is not None]
    return float(loss.detach()), gradients, counts


@pytest.mark.parametrize("family", PARAMS)
def test_every_family_has_equal_gradients_without_synchronisation(family):
    torch.manual_seed(3)
    network = Network(FAMILIES[family], Heads(outputs=2)).train()
    set_dropout(network, 0.0)  # also that of the head
    loss, gradients, _ = train_step(network, torch.device("cpu"))
    network = deepcopy(network).to(device())
    _, _, padded = train_step(network, device())
    network.encoder.nested = True
    nested_loss, nested_gradients, nested = train_step(network, device())
    assert nested_loss == pytest.approx(loss, abs=CLOSE)
    for expected, actual in zip(gradients, nested_gradients, strict=True):
        assert torch.allclose(expected, actual, atol=CLOSE)
    assert not nested.waits
    assert bool(nested.launches["_efficient_attention_forward"]) == (
        network.encoder.relative is None
    )
    if network.encoder.relative is None:
        assert nested.launches.total() < padded.launches.total()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_kernels_use_reduced_precision(dtype):
    torch.manual_seed(3)
    network = Network(FAMILIES["bert"], Heads(outputs=2)).train().to(device())
    expected, _, _ = train_step(network, device())
    network.encoder.nested = True
    loss, _, counts = train_step(network, device(), dtype)
    assert loss != expected and loss == pytest.approx(expected, abs=0.02)
    assert counts.launches["_efficient_attention_forward"] and not counts.waits
    assert {*counts.products} == {dtype}


def test_a_run_uses_the_fastest_attention(on_device, tmp_path, monkeypatch):
    monkeypatch.setattr(fastest, "NESTED_DEVICES", ("sim",))
    monkeypatch.setattr(fastest, "measure_attention", lambda *_: times_with_fastest("nested"))
    run, steps = check(small.classifying(tmp_path, **SHORT), tmp_path, on_device)
    assert all(step.launches["_efficient_attention_backward"] for step in steps)
    (prepared,) = (event for event in run.events_after(0)[0] if isinstance(event, Prepared))
    assert prepared.environment["attention"] == "nested"


def times_with_fastest(name: str) -> AttentionTimes:
    return AttentionTimes("here", {"padded blocks": 2.0, "nested": 2.0} | {name: 1.0})


MACHINE = Machine(torch.device("cpu"), "fp32", 1)


def test_attention_is_measured_once_and_the_fastest_chosen(monkeypatch):
    monkeypatch.setattr(fastest, "NESTED_DEVICES", ("sim",))
    monkeypatch.setattr(fastest, "TIMED_PASSES", 1)
    machine = replace(MACHINE, device=device(), precision_name="bf16")
    encoder = Network(FAMILIES["bert"], Heads(outputs=2)).encoder
    with count_operations() as counts:
        result = measure_attention(encoder, machine)
    assert counts.launches["_efficient_attention_backward"]
    assert all(result.seconds.values()) and "bf16" in result.key
    with count_operations() as counts:
        assert measure_attention(encoder, machine) == result
    assert not counts.launches
    monkeypatch.setattr(fastest, "measure_attention", lambda *_: times_with_fastest("nested"))
    assert choose_attention(encoder, machine) == "nested" and encoder.nested
    assert (
        choose_attention(encoder, machine, "padded blocks") == "padded blocks"
        and not encoder.nested
    )
    assert choose_attention(encoder, MACHINE, "nested") == "", "no such kernels on a CPU"
    deberta = Network(FAMILIES["deberta-v2"], Heads(outputs=2)).encoder
    assert choose_attention(deberta, machine) == ""


def test_an_unsupported_attention_is_not_chosen(monkeypatch):
    monkeypatch.setattr(fastest, "TIMED_PASSES", 1)
    error = RuntimeError("no kernel for heads of this size")
    monkeypatch.setattr(UnpaddedLayout, "gather", failing_gather(error))
    encoder = Network(FAMILIES["roberta"], Heads(outputs=2)).encoder
    result = measure_attention(encoder, replace(MACHINE, device=device()))
    assert result.seconds["nested"] == 0 < result.seconds["padded blocks"]
    assert result.fastest == "padded blocks"


def failing_gather(error: RuntimeError):  # type: ignore[no-untyped-def]
    original = UnpaddedLayout.gather

    def fail_with_spans(self, *args):  # type: ignore[no-untyped-def]
        if self.spans is not None:
            raise error
        return original(self, *args)

    return fail_with_spans


def test_nested_attention_must_be_clearly_faster():
    assert [times_with_fastest(name).fastest for name in ("nested", "padded blocks")] == [
        "nested",
        "padded blocks",
    ]
    similar = AttentionTimes("here", {"padded blocks": 1.05, "nested": 1.0})
    assert similar.fastest == "padded blocks"
