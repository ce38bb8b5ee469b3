"""Device, precision and threads of a run."""

import os
import platform
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace

import psutil
import torch

from engine import precision
from engine.errors import DiskFull, StudioError
from engine.precision import Precision, Speeds
from engine.spec.training import HardwareSpec

BF16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16")
SIDE, SECONDS = 1024, 0.2  # of the matrices that are multiplied to measure, and for how long


@dataclass(frozen=True)
class Machine:
    """What a job runs on."""

    device: torch.device
    bf16: bool
    threads: int

    def precision(self) -> AbstractContextManager[object]:
        """bf16 for matrix products where it was chosen; weights and sums stay float32."""
        if self.bf16:
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    @property
    def precision_name(self) -> Precision:
        return "bf16" if self.bf16 else "fp32"

    @property
    def emulates_bf16(self) -> bool:
        """Whether bf16 was asked for of a processor that works it out in software."""
        return self.bf16 and _emulates_bf16(self.device)

    def going_on(self, hardware: HardwareSpec, began_with: str | None) -> "Machine":
        """For a run that goes on: where nothing is asked for, the precision that it began with."""
        if hardware.precision != "auto" or began_with not in ("fp32", "bf16"):
            return self
        return replace(self, bf16=began_with == "bf16")

    def free_memory(self) -> int:
        """Bytes."""
        if self.device.type == "cuda":
            return int(torch.cuda.mem_get_info(self.device)[0])
        return int(psutil.virtual_memory().available)


def choose(hardware: HardwareSpec, local: int = 0, beside: int = 1) -> Machine:
    """The machine that a job asks for; sets the number of threads of this process, of torch and of
    the tokenizer alike.

    Where `beside` processes share this machine, this is number `local` of them: each has a GPU of
    its own, and as many of the cores as the others.

    Raises StudioError where the device is not there.
    """
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available() and beside == 1,
    }
    name: str = hardware.device
    if name == "auto":
        name = next(n for n in ("cuda", "mps", "cpu") if there[n])
    if not there[name]:
        raise StudioError(
            f"This machine has no device “{name}” that torch {torch.__version__} can use.",
            "Choose “auto” or “cpu”, or install a torch build for this device.",
        )
    if name == "cuda" and beside > 1:
        _take_gpu(local, beside)
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    threads = hardware.threads or max(1, cores // beside)
    torch.set_num_threads(threads)
    os.environ.setdefault(
        "RAYON_NUM_THREADS", str(threads)
    )  # the tokenizer's, before its first use
    device = torch.device(name, local) if name == "cuda" and beside > 1 else torch.device(name)
    torch.backends.fp32_precision = "ieee"  # type: ignore[attr-defined]  # no TF32: fp32 is what it says
    asked = hardware.precision
    chosen = speeds(device, threads).fastest if asked == "auto" else asked
    return Machine(device, chosen == "bf16", threads)


def speeds(device: torch.device, threads: int) -> Speeds:
    """How fast this machine is in each precision, measured where that is not known yet."""
    name = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()} {' '.join(_bf16())}"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    of = f"{device.type} {name.strip()}, {threads} threads, torch {torch.__version__}"
    if (known := precision.kept(of)) is not None:
        return known
    found = Speeds(of)
    if _may_have_bf16(device):
        found = Speeds(of, _rate(torch.float32, device), _rate(torch.bfloat16, device))
    with suppress(DiskFull, OSError):  # then it is measured again the next time
        precision.keep(found)
    return found


def _may_have_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and not _emulates_bf16(device)


def _emulates_bf16(device: torch.device) -> bool:
    is_x86 = torch.cpu.get_capabilities().get("architecture") == "x86_64"
    return device.type == "cpu" and is_x86 and not _bf16()


def _bf16() -> list[str]:
    """The instructions that this processor has for it, where one has to ask."""
    known = torch.cpu.get_capabilities()
    return [name for name in BF16_INSTRUCTIONS if known.get(name)]


def _rate(dtype: torch.dtype, device: torch.device) -> float:
    """Operations per second of the quickest of some matrix products."""
    one = torch.ones((SIDE, SIDE), dtype=dtype, device=device)
    float((one @ one)[0, 0])
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        began = time.perf_counter()
        float((one @ one)[0, 0])  # waits for the device
        best = min(best, time.perf_counter() - began)
    return 2 * SIDE**3 / best


def _take_gpu(local: int, beside: int) -> None:
    """Make the GPU of a process the one that it works on."""
    if beside > (count := torch.cuda.device_count()):
        raise StudioError(
            f"{beside} processes need {beside} GPUs, and this machine has {count}.",
            f"Set hardware.processes to {count}, or hardware.device to “cpu”.",
        )
    torch.cuda.set_device(local)
