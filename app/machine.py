"""Hardware and libraries of this machine, read without importing torch."""

import platform
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from app.translation import tr
from app.widgets.text import numbers
from engine import cores
from engine.system import precision
from engine.system.precision import Speeds, ThreadSpeeds

NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True)
class Machine:
    """Properties of this machine at one moment; sizes in bytes."""

    system: str
    processor: str
    cores: int  # physical cores available to this process
    memory: int
    memory_free: int
    disk_free: int
    gpus: tuple[str, ...]
    torch: str  # version with build, such as 2.13.0+cpu; empty if not installed
    speeds: Speeds | None = None  # speed of matrix products; None: not measured yet
    thread_speeds: ThreadSpeeds | None = None  # the same by number of threads

    @property
    def torch_build(self) -> str:
        """“cpu”, “cu130”, “metal”, …"""
        if "+" in self.torch:
            return self.torch.split("+", 1)[1]
        if sys.platform == "darwin":
            return "metal"
        return "cuda" if sys.platform == "linux" else "cpu"

    def uses_gpu(self) -> bool:
        """True if training will probably find a GPU."""
        return self.torch_build == "metal" or (bool(self.gpus) and self.torch_build != "cpu")

    def device(self) -> str:
        """Short description of the device."""
        if self.uses_gpu():
            return self.gpus[0] if self.gpus else tr("GPU (Apple Metal)")
        return tr("CPU, %Ln core(s)", self.cores)

    def warning(self) -> str:
        """Reason why this machine is slower than it could be, or “”."""
        if self.gpus and self.torch_build == "cpu":
            return tr(
                "This machine has an NVIDIA GPU, but the installed PyTorch is a CPU-only build."
            )
        return ""


def read_machine(home: Path) -> Machine:
    """Read everything now; takes a few milliseconds."""
    memory = psutil.virtual_memory()
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=" ".join(cores.cpu_name().split()),
        cores=cores.thread_candidates()[0],
        memory=memory.total,
        memory_free=memory.available,
        disk_free=shutil.disk_usage(home).free,
        gpus=_gpus(),
        torch=installed_version("torch"),
        speeds=precision.last(Speeds, home),
        thread_speeds=precision.last(ThreadSpeeds, home),
    )


def installed_version(package: str) -> str:
    """Version of an installed package, or “”."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _gpus() -> tuple[str, ...]:
    """Names of NVIDIA GPUs from the driver; “NVIDIA” if only its tool is found."""
    names = []
    if NVIDIA_GPUS.is_dir():
        for information in sorted(NVIDIA_GPUS.glob("*/information")):
            for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
                name, _, value = line.partition(":")
                if name == "Model":
                    names.append(value.strip())
    elif sys.platform == "win32" and shutil.which("nvidia-smi"):
        names.append("NVIDIA")
    return tuple(names)


def memory_text(machine: Machine) -> str:
    return tr("{0} of {1} free").format(
        numbers.size(machine.memory_free), numbers.size(machine.memory)
    )
