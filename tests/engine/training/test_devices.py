"""What a run is told about the machine that it asked for."""

from pathlib import Path

import pytest
import torch

from engine.home import Home
from engine.messages import Noted, Prepared
from engine.precision import Speeds, keep, last
from engine.spec.training import HardwareSpec
from engine.training import devices
from engine.training.devices import BF16_INSTRUCTIONS, Machine, choose
from engine.training.loop import train
from tests.engine.training.small import classifying, new_run

X86 = {"architecture": "x86_64"}


@pytest.mark.parametrize(
    "capabilities, emulates",
    [
        (X86, True),
        *((X86 | {name: True}, False) for name in BF16_INSTRUCTIONS),
        ({"architecture": "arm64"}, False),
    ],
)
def test_only_a_processor_without_the_instructions_is_slow_with_bf16(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, object], emulates: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert bool(Machine(torch.device("cpu"), "bf16", threads=1).slow) is emulates
    assert not Machine(torch.device("cpu"), "fp32", threads=1).slow
    assert not Machine(torch.device("cuda"), "bf16", threads=1).slow


def test_only_processors_are_slow_with_fp16() -> None:
    assert Machine(torch.device("cpu"), "fp16", threads=1).slow
    assert not Machine(torch.device("cuda"), "fp16", threads=1).slow
    assert not Machine(torch.device("mps"), "fp16", threads=1).slow


@pytest.mark.parametrize("precision, sentence", [("bf16", "no bf16"), ("fp16", "slow with fp16")])
def test_a_run_says_that_its_precision_is_slow_here(
    precision: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: X86)
    job = classifying(tmp_path, steps=1)
    hardware = job.hardware.model_copy(update={"precision": precision})
    job = job.model_copy(update={"hardware": hardware})
    told: list[object] = []
    train(job, told.append, lambda: False, new_run(tmp_path / "run", job))
    assert any(isinstance(event, Noted) and sentence in event.text for event in told)


def test_auto_takes_fp32_where_there_are_no_instructions_for_bf16(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: X86)
    assert choose(HardwareSpec(device="cpu", threads=1)).precision_name == "fp32"
    assert not last(Home().root).bf16  # type: ignore[union-attr]
    asked = HardwareSpec(device="cpu", precision="bf16", threads=1)
    assert choose(asked).precision_name == "bf16"


def test_auto_measures_once_and_takes_what_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: X86 | {"amx_bf16": True})
    rates, asked = {torch.float32: 1e11, torch.bfloat16: 1e12}, []

    def rate(dtype: torch.dtype, device: torch.device) -> float:
        asked.append(dtype)
        return rates[dtype]

    monkeypatch.setattr(devices, "_rate", rate)
    hardware = HardwareSpec(device="cpu", threads=1)
    assert choose(hardware).precision_name == choose(hardware).precision_name == "bf16"
    assert asked == [torch.float32, torch.bfloat16]
    rates[torch.bfloat16] = 1.2e11
    assert choose(hardware.model_copy(update={"threads": 2})).precision_name == "fp32"
    assert len(asked) == 4
    assert choose(hardware).precision_name == "bf16"  # what was measured with one thread stays
    (Home().cache / "precision.json").write_text("[{]")
    assert choose(hardware).precision_name == "fp32"


@pytest.mark.parametrize(
    "device, has_bf16, measured",
    [("cuda", True, "bf16"), ("cuda", False, "fp16"), ("mps", False, "fp16")],
)
def test_fp16_is_measured_where_a_gpu_has_no_bf16(
    device: str, has_bf16: bool, measured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_bf16)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    rates, asked = {torch.float32: 1e13, torch.bfloat16: 8e13, torch.float16: 8e13}, []

    def rate(dtype: torch.dtype, device: torch.device) -> float:
        asked.append(dtype)
        return rates[dtype]

    monkeypatch.setattr(devices, "_rate", rate)
    found = devices.speeds(torch.device(device), 1)
    assert found.fastest == measured and found.times == 8
    assert devices.speeds(torch.device(device), 1) == found
    assert asked == [torch.float32, devices.DTYPES[found.fastest]]
    slow = Speeds("a GPU with slow halves", fp32=1e13, fp16=1.4e13)
    assert slow.fastest == "fp32"


def test_what_was_measured_before_there_was_fp16_is_measured_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "_rate", lambda dtype, device: 1e12)
    of = devices.speeds(torch.device("mps"), 1).of
    keep(Speeds(of))
    assert devices.speeds(torch.device("mps"), 1).fp16 == 1e12


def test_a_rate_is_that_of_a_real_product() -> None:
    assert 1e8 < devices._rate(torch.float32, torch.device("cpu")) < 1e15


def test_a_run_goes_on_in_the_precision_that_it_began_with() -> None:
    now, auto = Machine(torch.device("cpu"), "fp32", threads=1), HardwareSpec()
    assert now.going_on(auto, "bf16").precision_name == "bf16"
    assert now.going_on(auto, "fp16").precision_name == "fp16"
    assert now.going_on(auto, "fp32") == now
    assert now.going_on(auto, None) == now  # a run of an earlier version
    assert now.going_on(HardwareSpec(precision="fp32"), "bf16") == now


def test_the_conditions_of_a_run_name_the_precision_that_was_chosen(tmp_path: Path) -> None:
    job = classifying(tmp_path, steps=1)
    job = job.model_copy(update={"hardware": HardwareSpec(device="cpu", threads=1)})
    told: list[object] = []
    train(job, told.append, lambda: False, new_run(tmp_path / "run", job))
    (plan,) = (event for event in told if isinstance(event, Prepared))
    assert plan.conditions["precision"] == plan.versions["precision"]
    assert plan.conditions["precision"] in ("fp32", "bf16")
