"""What a run is told about the machine that it asked for."""

from pathlib import Path

import pytest
import torch

from engine.messages import Noted
from engine.training.devices import BF16_INSTRUCTIONS, Machine
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
def test_only_a_processor_without_the_instructions_emulates_bf16(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, object], emulates: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert Machine(torch.device("cpu"), bf16=True, threads=1).emulates_bf16 is emulates
    assert not Machine(torch.device("cpu"), bf16=False, threads=1).emulates_bf16
    assert not Machine(torch.device("cuda"), bf16=True, threads=1).emulates_bf16


def test_a_run_says_that_its_precision_is_slow_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: X86)
    job = classifying(tmp_path, steps=1)
    job = job.model_copy(update={"hardware": job.hardware.model_copy(update={"precision": "bf16"})})
    told: list[object] = []
    train(job, told.append, lambda: False, new_run(tmp_path / "run", job))
    assert any(isinstance(event, Noted) and "no bf16" in event.text for event in told)
