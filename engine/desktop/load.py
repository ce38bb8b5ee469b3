"""Load of the machine while a run trains: CPU, memory, GPUs, temperature and power.

Only values available without a password: NVIDIA's GPUs by `nvidia-smi`, temperatures on Linux.
Unavailable values are left out.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeVar

import psutil
from pydantic import Field

from engine.messages import Count, Message, Moment, now

PROCESSOR_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "acpitz")  # best first
GPU_FIELDS = (
    "name",
    "utilization.gpu",
    "memory.used",
    "memory.total",
    "temperature.gpu",
    "power.draw",
)
GPU_TIMEOUT = 5  # seconds; the driver may hang
MEBIBYTE = 1 << 20


Value = TypeVar("Value", int, float)
Number = Annotated[float, Field(allow_inf_nan=False)]


class GpuLoad(Message):
    """One GPU: fraction of the time in use, bytes, °C and W; None if not available."""

    name: str = Field("", max_length=200)
    busy: Number | None = None
    memory: Count | None = None
    memory_total: Count | None = None
    temperature: Number | None = None
    power: Number | None = None


class MachineSample(Message):
    """Fraction of all CPUs in use since the last sample, bytes of memory, °C of the CPU.

    `run_busy` and `run_memory` cover the processes of the run; None if none is alive. Anything that
    is not available is None. `step` is the last one that the run has completed.
    """

    at: Moment = Field(default_factory=now)
    step: Count = 0
    busy: Number | None = None
    run_busy: Number | None = None
    memory: Count | None = None
    memory_total: Count | None = None
    run_memory: Count | None = None
    temperature: Number | None = None
    gpus: tuple[GpuLoad, ...] = Field((), max_length=64)


class MachineWatch:
    """Samples the machine and the processes of one run.

    Utilisation is measured since the previous sample; the first sample of a process has none.
    """

    def __init__(self) -> None:
        self._processes_by_id: dict[int, psutil.Process] = {}
        self._has_gpu = shutil.which("nvidia-smi") is not None
        self._times = _processor_times()

    def sample(self, pid: int, step: int = 0) -> MachineSample:
        """Take a sample; `pid` is the leading process of the run. May take a second with GPUs."""
        memory = psutil.virtual_memory()
        processes = list(self._processes(pid))
        return MachineSample(
            step=step,
            busy=self._machine_load(),
            run_busy=_sum(map(_process_load, processes)),
            memory=memory.total - memory.available,
            memory_total=memory.total,
            run_memory=_sum(map(_process_memory, processes)),
            temperature=processor_temperature(),
            gpus=tuple(gpu_loads()) if self._has_gpu else (),
        )

    def _machine_load(self) -> float:
        """CPU load since the last sample; psutil would keep separate counters for each thread."""
        (idle, total), (idle_before, before) = _processor_times(), self._times
        self._times = idle, total
        if total <= before:
            return 0.0
        return min(1.0, max(0.0, 1 - (idle - idle_before) / (total - before)))

    def _processes(self, pid: int) -> Iterator[psutil.Process]:
        """The leading process and its children; known ones as the same objects."""
        try:
            leader = self._processes_by_id.get(pid) or psutil.Process(pid)
            now = [leader, *leader.children(recursive=True)]
        except psutil.Error:
            now = []
        self._processes_by_id = {
            process.pid: self._processes_by_id.get(process.pid, process) for process in now
        }
        yield from self._processes_by_id.values()


def _processor_times() -> tuple[float, float]:
    """Idle seconds and all seconds of the CPUs since the system started."""
    times = psutil.cpu_times()
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # included in user
    return times.idle + getattr(times, "iowait", 0.0), sum(times) - guests


def _process_load(process: psutil.Process) -> float | None:
    """Fraction of all CPUs used by a process since the last call."""
    try:
        return process.cpu_percent() / 100 / (psutil.cpu_count() or 1)
    except psutil.Error:
        return None


def _process_memory(process: psutil.Process) -> int | None:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return None


def _sum(values: Iterable[Value | None]) -> Value | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers[1:], numbers[0]) if numbers else None


def processor_temperature() -> float | None:
    """The hottest part of the CPU in °C; None if not available."""
    if not sys.platform.startswith("linux"):
        return None
    sensors = psutil.sensors_temperatures()
    name = next((sensor for sensor in PROCESSOR_SENSORS if sensors.get(sensor)), None)
    return max(reading.current for reading in sensors[name]) if name else None


def gpu_loads() -> Iterator[GpuLoad]:
    """Load of each of NVIDIA's GPUs; nothing if the driver does not answer."""
    query = ["nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        result = subprocess.run(query, capture_output=True, timeout=GPU_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return
    for line in result.stdout.decode("utf-8", "replace").splitlines():
        name, *cells = (cell.strip() for cell in line.split(","))
        if len(cells) != len(GPU_FIELDS) - 1:
            continue
        busy, used, total, heat, power = map(_number, cells)
        yield GpuLoad(
            name=name[:200],
            busy=None if busy is None else busy / 100,
            memory=None if used is None else int(used * MEBIBYTE),
            memory_total=None if total is None else int(total * MEBIBYTE),
            temperature=heat,
            power=power,
        )


def _number(cell: str) -> float | None:
    """A number, or None for “[N/A]” and the like."""
    try:
        return float(cell)
    except ValueError:
        return None
