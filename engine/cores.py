"""CPU cores available to this process, and pinning to some of them.

A *core* is a logical CPU; hardware threads share a physical core. A container may restrict a
process to some cores or to a fraction of their time. No torch, as the window imports this.
"""

import math
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from engine.config.number_ranges import format_ranges, parse_ranges
from engine.errors import StudioError

SYSTEM = Path("/sys/devices")  # Linux's description of cores
CGROUPS, OWN_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cpu_and_cores() -> str:
    return f"{cpu_name()}, {psutil.cpu_count(logical=False) or psutil.cpu_count()} cores"


def allowed_cores() -> list[int]:
    """Cores this process may use; all if the system has no affinity."""
    if supports_affinity():
        return sorted(psutil.Process().cpu_affinity() or [])
    return list(range(os.cpu_count() or 1))


def supports_affinity() -> bool:
    """True if processes can be pinned to cores; not on macOS."""
    return hasattr(psutil.Process, "cpu_affinity")


def pin_to(cores: Sequence[int]) -> None:
    """Pin all threads of this process, present and future, to these cores.

    Raises StudioError if a core is not available.
    """
    if missing := sorted(set(cores) - set(allowed_cores())):
        raise StudioError(
            "This process may not use core {missing}; available cores: {listed}.",
            "Set hardware.cores to some of these, or leave it empty to use all.",
            missing=format_ranges(missing),
            listed=format_ranges(allowed_cores()),
        )
    process = psutil.Process()
    process.cpu_affinity(list(cores))
    if sys.platform == "linux":  # the call affects the main thread only
        for thread in process.threads():
            with suppress(ProcessLookupError):  # it has ended
                os.sched_setaffinity(thread.id, cores)


def divide_cores(cores: Sequence[int], index: int, count: int) -> list[int]:
    """Cores of process `index` of `count`, whole physical cores if possible.

    With more processes than cores, several share one.
    """
    ordered = [core for siblings in physical_cores(cores) for core in siblings]
    if len(ordered) < count:
        return [ordered[index % len(ordered)]]
    return ordered[index * len(ordered) // count : (index + 1) * len(ordered) // count]


def physical_cores(cores: Sequence[int]) -> list[list[int]]:
    """Group cores by physical core, as reported by Linux."""
    groups = dict[str, list[int]]()
    for core in cores:
        text = _read(SYSTEM / f"system/cpu/cpu{core}/topology/thread_siblings_list")
        groups.setdefault(text or str(core), []).append(core)
    return list(groups.values())


def thread_candidates() -> tuple[int, ...]:
    """Thread counts worth measuring: one per physical core first.

    Others are one per hardware thread, and one per performance core on hybrid CPUs. Limited by the
    container's CPU quota, rounded up.
    """
    cores, limit = allowed_cores(), cpu_limit()
    physical = min(len(physical_cores(cores)), psutil.cpu_count(logical=False) or len(cores))
    counts = (physical, len(cores), _performance_cores(cores) or len(cores) - physical)
    return tuple(dict.fromkeys(math.ceil(min(count, limit)) for count in counts if count))


def cpu_limit() -> float:
    """CPU quota of the container in cores; inf: unlimited."""
    lines = [line.split(":", 2) for line in _read(OWN_CGROUP).splitlines()]
    limits = [math.inf]
    for _, controllers, path in (line for line in lines if len(line) == 3):
        names = controllers.split(",")
        if controllers and "cpu" not in names:
            continue
        root = CGROUPS / controllers if controllers else CGROUPS
        relative = Path(path.lstrip("/"))
        limits += [_quota(root / folder) for folder in (relative, *relative.parents)]
    return min(limits)


def _quota(cgroup: Path) -> float:
    """Read the quota of cgroup v2 or v1; see the kernel's cgroup-v2.rst and sched-bwc.rst."""
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    if not quota:
        quota = _read(cgroup / "cpu.cfs_quota_us")
        period = _read(cgroup / "cpu.cfs_period_us")
    if not (quota.isdecimal() and period.isdecimal() and int(period)):
        return math.inf  # “max”, -1 or missing
    return int(quota) / int(period)


def _performance_cores(cores: Sequence[int]) -> int:
    """Number of performance cores of a hybrid CPU; 0 if unknown.

    If only some cores have two hardware threads, those are the performance cores, as in most of
    Intel's.
    """
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError, ValueError):
            command = ["/usr/sbin/sysctl", "-n", "hw.perflevel0.physicalcpu"]
            return int(subprocess.run(command, capture_output=True, timeout=5, check=True).stdout)
        return 0
    performance = parse_ranges(_read(SYSTEM / "cpu_core/cpus"))  # Intel
    if performance:
        return len(physical_cores([core for core in cores if core in performance]))
    speeds = [_read(SYSTEM / f"system/cpu/cpu{core}/cpu_capacity") for core in cores]  # Arm
    return speeds.count(max(speeds, key=lambda text: int(text or 0))) if any(speeds) else 0


def _read(file: Path) -> str:
    """Stripped content, or an empty string if there is no such file."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
