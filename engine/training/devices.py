"""Device, precision and threads of a run."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import psutil
import torch

from engine.errors import StudioError
from engine.spec.training import HardwareSpec

BF16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16")


@dataclass(frozen=True)
class Machine:
    """What a job runs on."""

    device: torch.device
    bf16: bool
    threads: int

    def precision(self) -> AbstractContextManager[object]:
        """bf16 for matrix products where it was asked for; weights and sums stay float32."""
        if self.bf16:
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    @property
    def emulates_bf16(self) -> bool:
        """Whether bf16 was asked for of a processor that works it out in software."""
        known = torch.cpu.get_capabilities()
        here = self.device.type == "cpu" and known.get("architecture") == "x86_64"
        return self.bf16 and here and not any(known.get(name) for name in BF16_INSTRUCTIONS)

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
    return Machine(device, hardware.precision == "bf16", threads)


def _take_gpu(local: int, beside: int) -> None:
    """Make the GPU of a process the one that it works on."""
    if beside > (count := torch.cuda.device_count()):
        raise StudioError(
            f"{beside} processes need {beside} GPUs, and this machine has {count}.",
            f"Set hardware.processes to {count}, or hardware.device to “cpu”.",
        )
    torch.cuda.set_device(local)
