"""Device, precision, threads and memory of a run."""

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import psutil
import torch

from engine import cores
from engine.config.number_ranges import format_ranges, parse_ranges
from engine.config.training import HardwareSpec
from engine.errors import StudioError
from engine.phrases import phrase
from engine.system import precision
from engine.system.precision import Precision, Speeds, ThreadSpeeds

DTYPES: dict[Precision, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
BF16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16")
MATRIX_SIZE, SECONDS = 1024, 0.2  # of the timed matrix products
STATUS_FILE = Path("/proc/self/status")
PEAK_FIELD = "VmHWM:"  # kB, of this process; see proc(5)


@dataclass(frozen=True)
class Machine:
    """Device, precision and threads of a run."""

    device: torch.device
    precision_name: Precision
    threads: int

    def precision(self) -> AbstractContextManager[object]:
        """Autocast for matrix products; weights and sums stay float32.

        fp16 needs scaled losses; see `LossScaler`.
        """
        if self.precision_name == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=DTYPES[self.precision_name])

    @property
    def token_multiple(self) -> int:
        """Round the token count of unpadded batches up to this multiple.

        oneDNN compiles a reduced-precision kernel per shape, which takes ten times as long as the
        product itself, so there should be few shapes.
        """
        return 32 if self.device.type == "cpu" and self.precision_name != "fp32" else 1

    def remarks(self, hardware: HardwareSpec) -> Iterator[str]:
        """Yield warnings about settings that are slow or unsupported here."""
        if self.precision_name == "bf16" and _emulates_bf16(self.device):
            yield phrase("This CPU does not support bf16 natively: fp32 would be faster.")
        if self.precision_name == "fp16" and self.device.type == "cpu":
            yield phrase("fp16 is for GPUs and slow on a CPU: fp32 would be faster.")
        if hardware.cores and not cores.supports_affinity():
            yield phrase("This system does not support choosing cores: the run uses all of them.")

    def resume(self, hardware: HardwareSpec, precision: str, threads: int) -> "Machine":
        """Return the machine with the settings of a resumed run, unless the job fixes them.

        An unknown `precision` is ignored; `threads` is 0 if they may change. Sets the thread count
        of this process.
        """
        machine = self
        if hardware.precision == "auto":
            known = next((name for name in DTYPES if name == precision), self.precision_name)
            machine = replace(machine, precision_name=known)
        if threads and not hardware.threads:
            torch.set_num_threads(threads)
            machine = replace(machine, threads=threads)
        return machine

    def free_memory(self) -> int:
        """Free bytes on the device."""
        if self.device.type == "cuda":
            return int(torch.cuda.mem_get_info(self.device)[0])
        return int(psutil.virtual_memory().available)


def choose_machine(hardware: HardwareSpec, local_rank: int = 0, processes: int = 1) -> Machine:
    """Choose the machine of a job, and set the thread counts of torch and the tokenizer.

    If several `processes` share this computer, this one is number `local_rank`: each gets its own
    GPU and an equal part of the cores.

    Raises StudioError if the device or a core does not exist.
    """
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available() and processes == 1,
    }
    name: str = hardware.device
    if name == "auto":
        name = next(n for n in ("cuda", "mps", "cpu") if available[n])
    if not available[name]:
        raise StudioError(
            "This machine has no device “{name}” that torch {version} can use.",
            "Choose “auto” or “cpu”, or install a torch build for this device.",
            name=name,
            version=torch.__version__,
        )
    if name == "cuda" and processes > 1:
        if processes > (count := torch.cuda.device_count()):
            raise StudioError(
                "{processes} processes need {processes} GPUs, but this machine has {count}.",
                "Set hardware.processes to {count}, or hardware.device to “cpu”.",
                processes=processes,
                count=count,
            )
        torch.cuda.set_device(local_rank)
    divisor = processes
    if (core_ids := parse_ranges(hardware.cores)) and cores.supports_affinity():
        cores.pin_to(cores.divide_cores(core_ids, local_rank, processes))
        divisor = 1  # already divided
    threads = hardware.threads or _best_threads(divisor, can_measure=processes == 1)
    torch.set_num_threads(threads)
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads))  # for the tokenizer, before its use
    has_own_gpu = name == "cuda" and processes > 1
    device = torch.device(name, local_rank) if has_own_gpu else torch.device(name)
    torch.backends.fp32_precision = "ieee"  # type: ignore[attr-defined]  # no TF32
    torch.backends.cuda.enable_cudnn_sdp(False)  # plans each new attention shape for 7 ms
    requested = hardware.precision
    chosen = matmul_speeds(device, threads).fastest if requested == "auto" else requested
    return Machine(device, chosen, threads)


def matmul_speeds(device: torch.device, threads: int) -> Speeds:
    """Speed of matrix products in each precision; measured unless known."""
    key, reduced = describe_device(device, threads), _reduced_precision(device)
    known = precision.find(Speeds, key)
    if known is not None and (reduced is None or getattr(known, reduced)):
        return known
    speeds = Speeds(key)
    if reduced is not None:
        rates = {name: _measure_rate(DTYPES[name], device) for name in ("fp32", reduced)}
        speeds = Speeds(key, **rates)
    precision.save(speeds)
    return speeds


def describe_device(device: torch.device, threads: int) -> str:
    """Key of a measurement: device, threads and torch version."""
    name = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()} {' '.join(_bf16())}"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    return f"{device.type} {name.strip()}, {threads} threads, torch {torch.__version__}"


def _best_threads(divisor: int, can_measure: bool) -> int:
    """Fastest thread count, measured unless known; else an equal part of the cores."""
    candidates = cores.thread_candidates()
    if len(candidates) == 1 or not can_measure:
        return max(1, candidates[0] // divisor)
    key = f"{cores.cpu_and_cores()}, {format_ranges(candidates)} threads, torch {torch.__version__}"
    speeds = precision.find(ThreadSpeeds, key)
    if speeds is None:
        rates = {}
        for count in candidates:
            torch.set_num_threads(count)
            rates[str(count)] = _measure_rate(torch.float32, torch.device("cpu"))
        speeds = ThreadSpeeds(key, candidates[0], rates)
        precision.save(speeds)
    return speeds.fastest


def _reduced_precision(device: torch.device) -> Literal["bf16", "fp16"] | None:
    """Reduced precision that may be fast on the device; None if there is none."""
    if device.type == "cpu":
        return None if _emulates_bf16(device) else "bf16"
    has_bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if has_bf16 else "fp16"


def _emulates_bf16(device: torch.device) -> bool:
    is_x86 = torch.cpu.get_capabilities().get("architecture") == "x86_64"
    return device.type == "cpu" and is_x86 and not _bf16()


def _bf16() -> list[str]:
    """bf16 instructions of this CPU, if it reports them."""
    known = torch.cpu.get_capabilities()
    return [name for name in BF16_INSTRUCTIONS if known.get(name)]


def _measure_rate(dtype: torch.dtype, device: torch.device) -> float:
    """Operations per second of a matrix product, the fastest of several."""
    matrix = torch.ones((MATRIX_SIZE, MATRIX_SIZE), dtype=dtype, device=device)
    float((matrix @ matrix)[0, 0])
    best, deadline = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < deadline:
        began = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # synchronises
        best = min(best, time.perf_counter() - began)
    return 2 * MATRIX_SIZE**3 / best


class Peak(NamedTuple):
    """Peak memory in bytes; `device` is 0 on a CPU."""

    process: int
    device: int

    @property
    def network_memory(self) -> int:
        """Peak of the memory that holds the network."""
        return self.device or self.process


def peak_memory() -> Peak:
    """Peak memory of this process, and of its GPU allocations."""
    on_device = 0
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        on_device = int(torch.cuda.max_memory_reserved())
    elif torch.backends.mps.is_available():
        # current value; never returned to the system
        on_device = int(torch.mps.driver_allocated_memory())
    return Peak(_peak_rss(), on_device)


def _peak_rss() -> int:
    """Peak resident memory; on Linux not from `ru_maxrss`, which starts with the parent's peak."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    if sys.platform == "linux":
        for line in STATUS_FILE.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(PEAK_FIELD):
                return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
