"""Choice of device, precision, threads and cores."""

from collections.abc import Callable

import pytest
import torch

from engine import cores
from engine.config.number_ranges import format_ranges
from engine.config.training import HardwareSpec
from engine.errors import StudioError
from engine.files.home import Home
from engine.messages.events import Measured, Noted, Prepared
from engine.runs.folder import RunFolder
from engine.system.precision import MEASUREMENTS, Precision, Speeds, ThreadSpeeds, find, last, save
from engine.training.device import machine as devices
from engine.training.device.environment import reusable_threads
from engine.training.device.machine import BF16_INSTRUCTIONS, Machine, choose_machine
from engine.training.loop import train
from engine.worker.train import main as work
from tests.engine.training.small import classifying, new_run, notes, with_hardware
from tests.engine.training.test_loop import final

pytestmark = pytest.mark.usefixtures("unmeasured")
X86 = {"architecture": "x86_64"}
SetThreadCounts = Callable[..., None]


@pytest.fixture
def set_thread_counts(monkeypatch: pytest.MonkeyPatch) -> SetThreadCounts:
    """Set the thread counts to try."""
    return lambda *result: monkeypatch.setattr(cores, "thread_candidates", lambda: result)


@pytest.mark.parametrize(
    "capabilities, emulates",
    [
        (X86, True),
        *((X86 | {name: True}, False) for name in BF16_INSTRUCTIONS),
        ({"architecture": "arm64"}, False),
    ],
)
def test_bf16_without_cpu_support_has_a_remark(monkeypatch, capabilities, emulates):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert ["not support bf16" in remark for remark in remarks("cpu", "bf16")] == [True] * emulates
    assert not remarks("cpu", "fp32") and not remarks("cuda", "bf16")


def remarks(device: str, precision: Precision) -> list[str]:
    return list(Machine(torch.device(device), precision, threads=1).remarks(HardwareSpec()))


def test_fp16_on_a_cpu_has_a_remark():
    assert "fp16 is for GPUs" in remarks("cpu", "fp16")[0]
    assert not remarks("cuda", "fp16") and not remarks("mps", "fp16")


def test_auto_uses_fp32_without_bf16_instructions(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: X86)
    assert choose_machine(HardwareSpec(device="cpu", threads=1)).precision_name == "fp32"
    assert not last(Speeds, Home().root).bf16  # type: ignore[union-attr]
    spec = HardwareSpec(device="cpu", precision="bf16", threads=1)
    assert choose_machine(spec).precision_name == "bf16"


def test_auto_measures_once_and_uses_the_clearly_faster_precision(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: X86 | {"amx_bf16": True})
    rates, requested = {torch.float32: 1e11, torch.bfloat16: 1e12}, []

    def fake_rate(dtype: torch.dtype, device: torch.device) -> float:
        requested.append(dtype)
        return rates[dtype]

    monkeypatch.setattr(devices, "_measure_rate", fake_rate)
    hardware = HardwareSpec(device="cpu", threads=1)
    assert (
        choose_machine(hardware).precision_name == choose_machine(hardware).precision_name == "bf16"
    )
    assert requested == [torch.float32, torch.bfloat16]
    rates[torch.bfloat16] = 1.2e11
    assert choose_machine(hardware.model_copy(update={"threads": 2})).precision_name == "fp32"
    assert len(requested) == 4
    assert (
        choose_machine(hardware).precision_name == "bf16"
    )  # the measurement with one thread is kept
    (Home().cache / MEASUREMENTS).write_text("[{]")
    assert choose_machine(hardware).precision_name == "fp32"


@pytest.mark.parametrize(
    "device, has_bf16, expected",
    [("cuda", True, "bf16"), ("cuda", False, "fp16"), ("mps", False, "fp16")],
)
def test_fp16_is_measured_on_a_gpu_without_bf16(device, has_bf16, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_bf16)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    rates, requested = {torch.float32: 1e13, torch.bfloat16: 8e13, torch.float16: 8e13}, []

    def fake_rate(dtype: torch.dtype, device: torch.device) -> float:
        requested.append(dtype)
        return rates[dtype]

    monkeypatch.setattr(devices, "_measure_rate", fake_rate)
    result = devices.matmul_speeds(torch.device(device), 1)
    assert result.fastest == expected and result.times == 8
    assert devices.matmul_speeds(torch.device(device), 1) == result
    assert requested == [torch.float32, devices.DTYPES[result.fastest]]
    slow = Speeds("a GPU with slow halves", fp32=1e13, fp16=1.4e13)
    assert slow.fastest == "fp32"


def test_measurements_without_fp16_are_repeated(monkeypatch):
    monkeypatch.setattr(devices, "_measure_rate", lambda dtype, device: 1e12)
    key = devices.matmul_speeds(torch.device("mps"), 1).key
    save(Speeds(key))
    assert devices.matmul_speeds(torch.device("mps"), 1).fp16 == 1e12


def test_measured_rates_are_plausible():
    assert 1e8 < devices._measure_rate(torch.float32, torch.device("cpu")) < 1e15


def test_a_resume_keeps_the_precision():
    machine, auto = Machine(torch.device("cpu"), "fp32", threads=1), HardwareSpec()
    assert machine.resume(auto, "bf16", 0).precision_name == "bf16"
    assert machine.resume(auto, "fp16", 0).precision_name == "fp16"
    assert machine.resume(auto, "fp32", 0) == machine
    assert machine.resume(auto, "", 0) == machine  # a run of an earlier version
    assert machine.resume(HardwareSpec(precision="fp32"), "bf16", 0) == machine


def test_the_number_of_threads_is_measured_once(monkeypatch, set_thread_counts):
    rates, measured = {2: 1e11, 4: 1.05e11}, []

    def fake_rate(dtype: torch.dtype, device: torch.device) -> float:
        measured.append(torch.get_num_threads())
        return rates[torch.get_num_threads()]

    monkeypatch.setattr(devices, "_measure_rate", fake_rate)
    set_thread_counts(2, 4)
    auto = HardwareSpec(device="cpu", precision="fp32")
    assert (
        choose_machine(auto).threads == choose_machine(auto).threads == torch.get_num_threads() == 2
    )
    assert measured == [2, 4]
    assert last(ThreadSpeeds, Home().root).rates == {"2": 1e11, "4": 1.05e11}  # type: ignore[union-attr]
    (Home().cache / MEASUREMENTS).unlink()
    rates[4] = 1.2e11
    assert choose_machine(auto).threads == torch.get_num_threads() == 4
    assert choose_machine(auto.model_copy(update={"threads": 1})).threads == 1
    assert choose_machine(auto, local_rank=1, processes=2).threads == 1  # half of the usual number
    set_thread_counts(3)
    assert choose_machine(auto).threads == 3
    assert measured == [2, 4, 2, 4]


def test_speeds_and_thread_counts_are_stored_separately():
    speeds, threads = (
        Speeds("here", fp32=1.0),
        ThreadSpeeds("here, 2,4 threads", 2, {"2": 1.0, "4": 2.0}),
    )
    home = Home().root
    for record in (speeds, threads):
        save(record)
    assert (last(Speeds, home), last(ThreadSpeeds, home)) == (speeds, threads)
    assert (find(Speeds, speeds.key), find(ThreadSpeeds, threads.key)) == (speeds, threads)
    assert find(ThreadSpeeds, speeds.key) is None


def test_a_resume_keeps_the_number_of_threads(monkeypatch, set_thread_counts, tmp_path):
    job = classifying(tmp_path, steps=6)
    job = job.model_copy(update={"hardware": HardwareSpec(device="cpu", precision="fp32")})
    reference, stopped = (new_run(tmp_path / name, job) for name in ("reference", "stopped"))

    def stop(event: object) -> None:
        if isinstance(event, Measured):
            stopped.request_stop()

    def threads(run: RunFolder) -> list[int]:
        return [e.threads for e in run.milestones() if isinstance(e, Prepared)]

    set_thread_counts(1)
    assert work(reference.path) == work(stopped.path, stop) == 0
    set_thread_counts(2)
    stopped.clear_stop()
    assert work(stopped.path) == 0
    assert threads(reference) == [1] and threads(stopped) == [1, 1]
    assert final(reference) == final(stopped)
    assert "Resumed from step 1, bit for bit." in notes(stopped)


def test_threads_are_kept_only_for_equal_results(set_thread_counts):
    recorded = {"threads": "4", "cpu": cores.cpu_and_cores(), "processes": "1"}
    set_thread_counts(2, 4)
    assert reusable_threads(recorded, "1") == 4
    assert reusable_threads(recorded, "2") == 0
    assert reusable_threads(recorded | {"cpu": "another one"}, "1") == 0
    assert reusable_threads({}, "1") == 0  # a run of an earlier version
    set_thread_counts(2)  # fewer cores than before
    assert reusable_threads(recorded, "1") == 0


def test_each_process_is_pinned_to_its_cores(monkeypatch):
    allowed, pinned = cores.allowed_cores(), list[list[int]]()
    monkeypatch.setattr(cores, "supports_affinity", lambda: True)
    monkeypatch.setattr(cores, "pin_to", pinned.append)
    spec = HardwareSpec(device="cpu", precision="fp32", cores=format_ranges(allowed))
    assert choose_machine(spec, local_rank=1, processes=2).threads == torch.get_num_threads()
    assert pinned == [cores.divide_cores(allowed, 1, 2)]


def test_a_run_reports_unavailable_cores(monkeypatch, tmp_path):
    job = classifying(tmp_path, steps=1)
    job = with_hardware(job, cores="0")
    monkeypatch.setattr(cores, "supports_affinity", lambda: False)
    events: list[object] = []
    train(job, new_run(tmp_path / "run", job), events.append)
    assert any(isinstance(event, Noted) and "uses all of them" in event.text for event in events)


def test_a_missing_core_is_reported():
    with pytest.raises(StudioError, match=r"may not use core 4000-4001; available") as caught:
        cores.pin_to([*cores.allowed_cores(), 4000, 4001])
    assert "hardware.cores" in caught.value.advice


def test_the_environment_of_a_run_names_its_precision(tmp_path):
    job = classifying(tmp_path, steps=1)
    job = job.model_copy(update={"hardware": HardwareSpec(device="cpu", threads=1)})
    events: list[object] = []
    train(job, new_run(tmp_path / "run", job), events.append)
    (prepared,) = (event for event in events if isinstance(event, Prepared))
    assert prepared.environment["precision"] == prepared.versions["precision"]
    assert prepared.environment["precision"] in ("fp32", "bf16")


def test_gpu_attention_avoids_kernels_planned_per_shape():
    torch.backends.cuda.enable_cudnn_sdp(True)
    choose_machine(HardwareSpec(device="cpu"))
    assert not torch.backends.cuda.cudnn_sdp_enabled()
