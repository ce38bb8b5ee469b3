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
from tests.simulated.attention import kernel_enabled
from tests.simulated.device import count_operations, device, keep_parameters

CLOSE = 1e-5
CLOSE_GRADIENT = 2e-5  # sums of more products: 1.001e-5 on a Xeon with AMX
REDUCED = ("bf16", "fp16")
TASKS = ("text_classification",)  # every task is in test_training.py
LONG = (  # other tests run them
    *(checks.tasks, checks.options, checks.families, checks.prediction, checks.explore),
)
PARAMS = [
    pytest.param(name, marks=pytest.mark.long) if check in LONG else name
    for name, check in CHECKS.items()
]


def choose_simulated(hardware: HardwareSpec, *args: int, **kwargs: int) -> Machine:
    """The machine of a job, with the simulated device instead of a GPU."""
    if hardware.device != "cuda":
        return choose_machine(hardware, *args, **kwargs)
    result = choose_machine(hardware.model_copy(update={"device": "cpu"}), *args, **kwargs)
    return replace(result, device=device())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The doctor's bench for `--device cuda`, on a machine that chooses bf16."""
    with pytest.MonkeyPatch.context() as patch, keep_parameters(), kernel_enabled():
        for module in (benches, loop, estimate):
            patch.setattr(module, "choose_machine", choose_simulated)
        patch.setattr(model_cache, "_device", lambda name: device() if name == "cuda" else
                      torch.device(name))  # fmt: skip
        patch.setattr(checks, "NESTED_DEVICES", ("cuda", "sim"))
        patch.setattr(fastest, "TIMED_PASSES", 1)
        patch.setattr(cores, "thread_candidates", lambda: (1,))
        patch.setattr(machine, "MATRIX_SIZE", 32)
        patch.setattr(machine, "SECONDS", 0.01)
        result = benches.bench(tmp_path_factory.mktemp("doctor"), "cuda")
        result.machine = replace(result.machine, precision_name="bf16")
        yield result


@pytest.mark.parametrize("name", PARAMS)
def test_a_check_passes_on_a_device_that_matches_the_cpu(name, bench, monkeypatch):
    if CHECKS[name] is checks.tasks:
        monkeypatch.setattr(checks, "KINDS", TASKS)
    monkeypatch.setattr(checks, "OPTIONS", {})
    with count_operations() as counts:
        result = run_check(name, bench)
    assert counts.launches.total() > 10 and result.figures and result.passed, result
    for figure in result.figures:
        if figure.limit is not None and not any(name in figure.name for name in REDUCED):
            tolerance = CLOSE_GRADIENT if "gradient" in figure.name else CLOSE
            limit = max(tolerance, figure.limit if figure.limit >= 0.01 else 0.0)
            assert figure.value is not None and figure.value <= limit, figure


def test_a_device_fault_is_found_and_other_checks_continue(bench, monkeypatch):
    original = torch.nn.functional.scaled_dot_product_attention

    def faulty(q: torch.Tensor, *args: torch.Tensor, **kwargs: torch.Tensor) -> torch.Tensor:
        if q.device == device() and q.size(2) > 16:
            raise RuntimeError("no kernel for this")
        return original(q, *args, **kwargs) * (1.01 if q.device == device() else 1)

    monkeypatch.setattr(checks, "NESTED_DEVICES", ("cuda",))
    monkeypatch.setattr(checks, "KINDS", TASKS)
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", faulty)
    families, prediction = run_check("Model families", bench), run_check("Prediction", bench)
    names = {fault.name for fault in families.faults}
    assert names == {*checks.FAMILIES} - {"deberta-v2", "mpnet"}  # with their own attention
    assert all("no kernel for this" in fault.problem for fault in families.faults)
    assert all("Traceback" in fault.details for fault in families.faults)
    assert len(families.figures) == 4 and all(figure.passed for figure in families.figures)
    assert not prediction.passed and not prediction.faults
