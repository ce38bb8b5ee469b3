"""Precision “auto” selects the one with the fastest layer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.config.job import JobSpec
from engine.config.training import HardwareSpec
from engine.files.home import Home
from engine.messages.events import Prepared
from engine.models.attention import Layout
from engine.models.fast import encoding, linear
from engine.models.fast.padded_blocks import AttentionShape, Ints
from engine.models.fast.unpadded import UnpaddedBatch
from engine.models.heads import Heads
from engine.models.network import Network
from engine.runs.folder import RunFolder
from engine.system.precision import LayerTimes, Precision, last
from engine.training.device import fastest, machine
from engine.training.device.fastest import choose_precision, measure_layer
from engine.training.device.machine import Machine
from engine.training.estimate import estimate
from tests.engine.models.family_folders import EXAMPLES
from tests.engine.training.small import NETWORK, classifying, trained
from tests.engine.training.test_loop import metrics

pytestmark = pytest.mark.usefixtures("unmeasured")
BF16 = Machine(torch.device("cpu"), "bf16", threads=1)
FakeTimes = Callable[..., list[Precision]]


@pytest.fixture
def fake_times(monkeypatch: pytest.MonkeyPatch) -> FakeTimes:
    """Fake layer timing; returns the precisions that were timed."""

    def set_seconds(**seconds: float) -> list[Precision]:
        timed: list[Precision] = []

        def fake_layer_seconds(layer: object, x: object, layout: object, machine: Machine) -> float:
            timed.append(machine.precision_name)
            return seconds[machine.precision_name]

        monkeypatch.setattr(fastest, "_layer_seconds", fake_layer_seconds)
        monkeypatch.setattr(fastest, "MIN_SECONDS", 0.0)
        return timed

    return set_seconds


def test_explicit_or_useless_precisions_are_not_measured(fake_times):
    timed, network = fake_times(), Network(NETWORK, Heads())
    named = HardwareSpec(precision="bf16")
    assert choose_precision(network, BF16, named, 32, 20) is BF16
    plain = Machine(torch.device("cpu"), "fp32", threads=1)
    assert choose_precision(network, plain, HardwareSpec(), 32, 20) is plain
    assert timed == []


@pytest.mark.parametrize(
    "fp32, bf16, chosen", [(1.0, 0.5, "bf16"), (1.0, 0.95, "fp32"), (1.0, 2.0, "fp32")]
)
def test_reduced_precision_is_chosen_if_clearly_faster(fp32, bf16, chosen, fake_times):
    fake_times(fp32=fp32, bf16=bf16)
    result = choose_precision(Network(NETWORK, Heads()), BF16, HardwareSpec(), 32, 20)
    assert result.precision_name == chosen
    assert last(LayerTimes, Home().root).fastest == chosen  # type: ignore[union-attr]


def test_batches_of_similar_size_are_measured_once(fake_times):
    timed, network = fake_times(fp32=1.0, bf16=2.0), Network(NETWORK, Heads())
    first = measure_layer(network, BF16, 32, 20.0)
    count = len(timed)
    assert count > 0
    assert measure_layer(network, BF16, 33, 17.0) == first and len(timed) == count
    other = measure_layer(network, BF16, 8, 20.0)
    assert other.key != first.key and len(timed) == 2 * count
    wide = Network(NETWORK.model_copy(update={"intermediate_size": 64}), Heads())
    assert measure_layer(wide, BF16, 32, 20.0).key != first.key


@pytest.mark.parametrize("family", EXAMPLES)
def test_every_family_is_measured_and_unchanged(family):
    network = Network(EXAMPLES[family].spec, Heads())
    before = {name: value.clone() for name, value in network.state_dict().items()}
    result = measure_layer(network, BF16, 2, 8.0)
    assert result.fp32 > 0 and result.bf16 > 0 and result.fp16 == 0
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    assert all(weights.grad is None for weights in network.parameters())


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> JobSpec:
    """On a CPU with fast bf16 products."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    monkeypatch.setattr(
        machine, "_measure_rate", lambda dtype, device: 1e12 if dtype.itemsize == 2 else 1
    )
    result = classifying(tmp_path, steps=3, dropout=0.3)
    return result.model_copy(update={"hardware": HardwareSpec(device="cpu", threads=1)})


def test_a_run_and_its_estimate_choose_the_same_precision(fake_times, job, tmp_path):
    fake_times(fp32=1.0, bf16=2.0)
    assert estimate(job, lambda stage: None).precision == "fp32"
    run = trained(tmp_path / "run", job)
    assert chosen_precision(run) == "fp32"


def test_measuring_precisions_changes_no_loss(job, tmp_path, monkeypatch):
    """The layer is run with its dropout, then its timing is replaced."""
    measure, timed = fastest._layer_seconds, list[Precision]()

    def fake_layer_seconds(layer: nn.Module, x: Tensor, layout: Layout, machine: Machine) -> float:
        timed.append(machine.precision_name)
        measure(layer, x, layout, machine)
        return 1.0 if machine.precision_name == "fp32" else 2.0

    monkeypatch.setattr(fastest, "_layer_seconds", fake_layer_seconds)
    counts, losses = [], []
    for name in ("first", "second"):
        run = trained(tmp_path / name, job)
        counts.append(len(timed))
        losses.append(metrics(run))
    assert 0 < counts[0] == counts[1]
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    "precision, onednn, multiple", [("fp32", False, 1), ("fp32", True, 32), ("bf16", True, 32)]
)
def test_batches_multiplied_by_onednn_have_few_shapes(
    precision, onednn, multiple, unmeasured, monkeypatch, tmp_path
):
    monkeypatch.setattr(linear, "MIN_ONEDNN", 0)
    monkeypatch.setattr(fastest, "onednn_is_faster", lambda: onednn)
    multiples = set[int]()
    original = encoding.unpad

    def record_unpad(lengths: Ints, width: int, shape: AttentionShape, *args: Any) -> UnpaddedBatch:
        multiples.add(shape.multiple)
        return original(lengths, width, shape, *args)

    monkeypatch.setattr(encoding, "unpad", record_unpad)
    job = classifying(tmp_path, steps=2)
    hardware = HardwareSpec(device="cpu", threads=1, precision=precision)
    job = job.model_copy(update={"hardware": hardware})
    trained(tmp_path / "run", job)
    assert multiples == {multiple}
    assert Machine(torch.device("cuda"), precision, threads=1).token_multiple == 1


def chosen_precision(run: RunFolder) -> str:
    (actual,) = (e.versions["precision"] for e in run.milestones() if isinstance(e, Prepared))
    return actual
