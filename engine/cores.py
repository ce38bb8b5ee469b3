"""The processor cores that this process may use: which, how many, and how it keeps to some.

A *core* here is what the system numbers and schedules on; where there are hardware threads, several
of them are one physical core. A container may give a process fewer than the machine has, either by
name or as a share of their time. No torch: the window asks, too.
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

from engine.config.number_ranges import listed, numbers_in
from engine.errors import StudioError
from engine.phrases import phrase

SYSTEM = Path("/sys/devices")  # what Linux says of cores
CGROUPS, OWN_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def cpu_name() -> str:
    """The name that the processor has for people."""
    known = Path("/proc/cpuinfo")
    if known.is_file():
        for line in known.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cpu_and_cores() -> str:
    """The same, and how many cores the machine has."""
    return f"{cpu_name()}, {psutil.cpu_count(logical=False) or psutil.cpu_count()} cores"


def allowed_cores() -> list[int]:
    """The cores that this process may run on; all, where the system keeps none to some."""
    if supports_affinity():
        return sorted(psutil.Process().cpu_affinity() or [])
    return list(range(os.cpu_count() or 1))


def supports_affinity() -> bool:
    """Whether this system lets a process keep to some cores; macOS does not."""
    return hasattr(psutil.Process, "cpu_affinity")


def pin_to(wanted: Sequence[int]) -> None:
    """Let all threads of this process, and those to come, run on these cores alone.

    Raises StudioError where some of them are not there for this process.
    """
    if missing := sorted(set(wanted) - set(allowed_cores())):
        raise StudioError(
            phrase(
                "This process may not use core {missing}; available cores: {listed}.",
                missing=listed(missing),
                listed=listed(allowed_cores()),
            ),
            phrase("Set hardware.cores to some of these, or leave it empty to use all."),
        )
    process = psutil.Process()
    process.cpu_affinity(list(wanted))
    if sys.platform == "linux":  # which sees to the first thread alone
        for thread in process.threads():
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(thread.id, wanted)


def divide_cores(cores: Sequence[int], number: int, of: int) -> list[int]:
    """The cores of process `number` where `of` processes share some, whole physical ones if it can.

    Where there are fewer than processes, several have the same one.
    """
    in_turn = [
        core for siblings in physical_cores(cores) for core in siblings
    ]  # others: neighbours
    if len(in_turn) < of:
        return [in_turn[number % len(in_turn)]]
    return in_turn[number * len(in_turn) // of : (number + 1) * len(in_turn) // of]


def physical_cores(cores: Sequence[int]) -> list[list[int]]:
    """The cores, those together that Linux says are hardware threads of one physical core."""
    found = dict[str, list[int]]()
    for core in cores:
        text = _read(SYSTEM / f"system/cpu/cpu{core}/topology/thread_siblings_list")
        found.setdefault(text or str(core), []).append(core)
    return list(found.values())


def thread_candidates() -> tuple[int, ...]:
    """How many threads may be quickest: first one for each physical core, then others if any.

    These are one for each hardware thread, and one for each quick core where cores are of two
    kinds. No more than the time that the process gets: a limit of 1.5 cores is for 2 threads.
    """
    cores, most = allowed_cores(), cpu_limit()
    each = min(len(physical_cores(cores)), psutil.cpu_count(logical=False) or len(cores))
    counts = (each, len(cores), _performance_cores(cores) or len(cores) - each)
    return tuple(dict.fromkeys(math.ceil(min(count, most)) for count in counts if count))


def cpu_limit() -> float:
    """How many cores' worth of time the container gives this process; inf: as much as there is."""
    lines = [line.split(":", 2) for line in _read(OWN_CGROUP).splitlines()]
    shares = [math.inf]
    for _, controllers, path in (line for line in lines if len(line) == 3):
        names = controllers.split(",")
        if controllers and "cpu" not in names:
            continue
        root = CGROUPS / controllers if controllers else CGROUPS
        inside = Path(path.lstrip("/"))
        shares += [_quota(root / folder) for folder in (inside, *inside.parents)]
    return min(shares)


def _quota(cgroup: Path) -> float:
    """Of version 2 and of version 1; see the kernel's cgroup-v2.rst and sched-bwc.rst."""
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    if not quota:
        quota = _read(cgroup / "cpu.cfs_quota_us")
        period = _read(cgroup / "cpu.cfs_period_us")
    if not (quota.isdecimal() and period.isdecimal() and int(period)):
        return math.inf  # “max”, or -1, or it says nothing
    return int(quota) / int(period)


def _performance_cores(cores: Sequence[int]) -> int:
    """How many of the cores are the quick ones where there are two kinds; 0: nobody says.

    Then those are that have two threads, if only some have: so it is in most of Intel's.
    """
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError, ValueError):
            asked = ["/usr/sbin/sysctl", "-n", "hw.perflevel0.physicalcpu"]
            return int(subprocess.run(asked, capture_output=True, timeout=5, check=True).stdout)
        return 0
    named = numbers_in(_read(SYSTEM / "cpu_core/cpus"))  # Intel's
    if named:
        return len(physical_cores([core for core in cores if core in named]))
    speeds = [_read(SYSTEM / f"system/cpu/cpu{core}/cpu_capacity") for core in cores]  # on ARM
    return speeds.count(max(speeds, key=lambda text: int(text or 0))) if any(speeds) else 0


def _read(file: Path) -> str:
    """Without white space around it; empty where it is not there."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
