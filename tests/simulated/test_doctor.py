"""The device check accepts the simulated device, and finds injected faults."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from engine import cores
from engine.config.training import HardwareSpec
from engine.doctor import bench as benches
from engine.doctor import checks
from engine.doctor.bench import Bench
from engine.doctor.checks import CHECKS, run_check
from engine.explore import model_cache
from engine.training import estimate, loop
from engine.training.device import fastest, machine
from engine.training.device.machine import Machine, choose_machine
from tests.simulated.attention import as_on_a_gpu
from tests.simulated.device import counted, device, parameters_keep_their_identity

CLOSE = 1e-5
CLOSE_GRADIENT = 2e-5  # sums of more products: 1.001e-5 was seen on a Xeon with AMX
NEAR = ("bf16", "fp16")
SOME = ("text_classification",)  # every task is in test_training.py


def chosen(hardware: HardwareSpec, *given: int, **named: int) -> Machine:
    """The machine of a job, with the simulated device in the place of a GPU."""
    if hardware.device != "cuda":
        return choose_machine(hardware, *given, **named)
    result = choose_machine(hardware.model_copy(update={"device": "cpu"}), *given, **named)
    return replace(result, device=device())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The doctor's, for `--device cuda`, on a machine that would take bf16 by itself."""
    with pytest.MonkeyPatch.context() as patch, parameters_keep_their_identity(), as_on_a_gpu():
        for module in (benches, loop, estimate):
            patch.setattr(module, "choose_machine", chosen)
        patch.setattr(model_cache, "_device", lambda name: device() if name == "cuda" else
                      torch.device(name))  # fmt: skip
        patch.setattr(checks, "MEASURED_ON", ("cuda", "sim"))
        patch.setattr(fastest, "TIMED", 1)
        patch.setattr(cores, "thread_candidates", lambda: (1,))
        patch.setattr(machine, "SIDE", 32)
        patch.setattr(machine, "SECONDS", 0.01)
        result = benches.bench(tmp_path_factory.mktemp("doctor"), "cuda")
        result.machine = replace(result.machine, precision_name="bf16")
        yield result


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_passes_on_a_device_that_matches_the_cpu(name, bench, monkeypatch):
    if CHECKS[name] is checks.tasks:
        monkeypatch.setattr(checks, "KINDS", SOME)
    monkeypatch.setattr(checks, "OPTIONS", {})
    with counted() as counts:
        result = run_check(name, bench)
    assert counts.launches.total() > 10 and result.figures and result.passed, result
    for figure in result.figures:
        if figure.limit is not None and not any(short in figure.name for short in NEAR):
            close = CLOSE_GRADIENT if "gradient" in figure.name else CLOSE
            most = max(close, figure.limit if figure.limit >= 0.01 else 0.0)
            assert figure.value is not None and figure.value <= most, figure


def test_a_fault_of_the_device_is_found_and_the_other_checks_are_carried_out(bench, monkeypatch):
    right = torch.nn.functional.scaled_dot_product_attention

    def wrong(q: torch.Tensor, *given: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        if q.device == device() and q.size(2) > 16:
            raise RuntimeError("no kernel for this")
        return right(q, *given, **named) * (1.01 if q.device == device() else 1)

    monkeypatch.setattr(checks, "MEASURED_ON", ("cuda",))
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", wrong)
    families, prediction = run_check("Model families", bench), run_check("Prediction", bench)
    named = {fault.name for fault in families.faults}
    assert named == {*checks.FAMILIES} - {
        "deberta-v2",
        "mpnet",
    }  # which have attention of their own
    assert all("no kernel for this" in fault.problem for fault in families.faults)
    assert all("Traceback" in fault.details for fault in families.faults)
    assert len(families.figures) == 4 and all(figure.passed for figure in families.figures)
    assert not prediction.passed and not prediction.faults
