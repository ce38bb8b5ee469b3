"""Dry run: all sides in this process with tiny networks, to check the code.

A GPU is replaced by the simulated device of the tests. The figures mean nothing.
"""

import io
import json
import os
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


def device_name(device: str, is_dry: bool) -> str:
    """Device name for torch; in a dry run the simulated one replaces a GPU."""
    return SIMULATED if is_dry and device == "cuda" else device


def has_accelerate() -> bool:
    return find_spec("accelerate") is not None


def has_peft() -> bool:
    return find_spec("peft") is not None


def can_run(side: tuple[str, ...], device: str, precision: str) -> bool:
    """True unless the Trainer cannot run: accelerate is missing, or it would have to use reduced
    precision on the simulated device, which accelerate refuses."""
    if side[0] != "trainer" or "--loop=plain" in side:
        return True
    is_reduced = precision != "fp32" and "--precision=fp32" not in side
    return has_accelerate() and not (device == "cuda" and is_reduced)


def run(module: str, options: tuple[str, ...]) -> dict[str, Any]:
    """Result of a module of this package with these options, run in this process."""
    printed = io.StringIO()
    with ExitStack() as stack:
        if "--device=cuda" in options:
            stack.enter_context(_simulated())
        stack.enter_context(redirect_stdout(printed))
        import_module(f"benchmarks.training.{module}").main([*options, "--dry"])
    result: dict[str, Any] = json.loads(printed.getvalue().splitlines()[-1])
    return result


@contextmanager
def _simulated() -> Iterator[None]:
    """Jobs that request a GPU get the simulated device."""
    from engine.config.training import HardwareSpec
    from engine.training import loop
    from engine.training.device.machine import Machine, choose_machine
    from tests.simulated.device import device, keep_parameters

    def choose(hardware: HardwareSpec, *arguments: int, **settings: int) -> Machine:
        on_cpu = hardware.model_copy(update={"device": "cpu"})
        return replace(choose_machine(on_cpu, *arguments, **settings), device=device())

    trainer = mock.patch.dict(os.environ, {"ACCELERATE_TORCH_DEVICE": SIMULATED})
    with (
        mock.patch.object(loop, "choose_machine", choose),
        keep_parameters(),
        trainer,
    ):
        device()
        yield
