"""A dry run: every side in this process, with tiny networks, so that the whole way to the table is
known to work before somebody spends an hour on a GPU. No figure of it means anything.

In the place of a GPU stands the simulated device of the tests, which refuses what a GPU refuses.
"""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest import mock

SIZES = {"large": (2, 128), "base": (2, 64), "small": (1, 64)}  # layers and width
BATCH, ROWS, DOCUMENTS = 2, 60, 20
SIMULATED = "sim"


def place(device: str, is_dry: bool) -> str:
    """What torch calls the device: in a dry run the simulated one, where a GPU is asked for."""
    return SIMULATED if is_dry and device == "cuda" else device


def has_accelerate() -> bool:
    """Whether the Trainer can run at all."""
    return find_spec("accelerate") is not None


def has_peft() -> bool:
    """Whether transformers can train adapters."""
    return find_spec("peft") is not None


def can_run(side: tuple[str, ...], device: str, precision: str) -> bool:
    """Whether a side runs here. accelerate refuses short numbers on a device that it does not know
    by name, so that in those the Trainer is left out on the simulated one."""
    if side[0] != "trainer.py" or "--loop=plain" in side:
        return True
    is_short = precision != "fp32" and "--precision=fp32" not in side
    return has_accelerate() and not (device == "cuda" and is_short)


def run(script: str, options: tuple[str, ...]) -> dict[str, Any]:
    """What a script says with these options, in this process."""
    printed = io.StringIO()
    with ExitStack() as meanwhile:
        if "--device=cuda" in options:
            meanwhile.enter_context(_simulated())
        meanwhile.enter_context(mock.patch.object(sys, "argv", [script, *options, "--dry"]))
        meanwhile.enter_context(redirect_stdout(printed))
        import_module(script.removesuffix(".py")).main()
    found: dict[str, Any] = json.loads(printed.getvalue().splitlines()[-1])
    return found


@contextmanager
def _simulated() -> Iterator[None]:
    """Jobs that ask for a GPU get the simulated device."""
    from engine.config.training import HardwareSpec
    from engine.training import loop
    from engine.training.device.machine import Machine, choose_machine
    from tests.simulated.device import device, parameters_keep_their_identity

    def chosen(hardware: HardwareSpec, *given: int, **named: int) -> Machine:
        there = hardware.model_copy(update={"device": "cpu"})
        return replace(choose_machine(there, *given, **named), device=device())

    trainer = mock.patch.dict(os.environ, {"ACCELERATE_TORCH_DEVICE": SIMULATED})
    with mock.patch.object(loop, "choose", chosen), parameters_keep_their_identity(), trainer:
        device()
        yield
