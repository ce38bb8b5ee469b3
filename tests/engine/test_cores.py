"""The cores of this process, on machines and in containers simulated by files of Linux."""

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from engine import cores
from engine.config.number_ranges import format_ranges, parse_ranges


class Linux:
    """Simulated system files, initially empty."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, monkeypatch
        monkeypatch.setattr(cores, "SYSTEM", folder / "devices")
        monkeypatch.setattr(cores, "CGROUPS", folder / "cgroup")
        monkeypatch.setattr(cores, "OWN_CGROUP", folder / "own")
        monkeypatch.setattr(sys, "platform", "linux")

    def write(self, path: str, text: object) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")

    def add_cores(self, *physical: Sequence[int], allowed: Sequence[int] | None = None) -> None:
        """Add physical cores, each with its hardware threads; `allowed`: those for this process."""
        for siblings in physical:
            for core in siblings:
                path = f"devices/system/cpu/cpu{core}/topology/thread_siblings_list"
                self.write(path, format_ranges(siblings))
        all_cores = sorted(core for siblings in physical for core in siblings)
        self._patch.setattr(
            cores, "allowed_cores", lambda: list(all_cores if allowed is None else allowed)
        )
        self._patch.setattr(psutil, "cpu_count", lambda logical=True: len(physical))


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Linux:
    return Linux(tmp_path, monkeypatch)


def core_pairs(count: int) -> list[list[int]]:
    """Physical cores with two hardware threads each."""
    return [[n, n + count] for n in range(count)]


@pytest.mark.parametrize(
    "physical, allowed, candidates",
    [
        ([[n] for n in range(4)], None, (4,)),
        ([[n] for n in range(64)], [8, 9], (2,)),
        (core_pairs(4), None, (4, 8)),
        (core_pairs(4), [0, 4], (1, 2)),  # both threads of one core
        ([[2 * n, 2 * n + 1] for n in range(6)] + [[n] for n in range(12, 20)], None, (14, 20, 6)),
    ],
)
def test_physical_cores_then_hardware_threads_then_fast_cores_are_candidates(
    linux, physical, allowed, candidates
):
    linux.add_cores(*physical, allowed=allowed)
    assert cores.thread_candidates() == candidates


def test_fast_cores_without_threads_are_reported_by_the_system(linux):
    linux.add_cores(*([n] for n in range(20)))
    linux.write("devices/cpu_core/cpus", "0-7")
    linux.write("devices/cpu_atom/cpus", "8-19")
    assert cores.thread_candidates() == (20, 8)


def test_arm_reports_the_capacity_of_each_core(linux):
    linux.add_cores(*([n] for n in range(6)))
    for core, capacity in enumerate((446, 446, 1024, 1024, 446, 446)):
        linux.write(f"devices/system/cpu/cpu{core}/cpu_capacity", capacity)
    assert cores.thread_candidates() == (6, 2)


def test_psutil_is_used_if_the_system_reports_nothing(linux, monkeypatch):
    monkeypatch.setattr(cores, "allowed_cores", lambda: list(range(8)))
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 8 if logical else 4)
    assert cores.thread_candidates() == (4, 8)


@pytest.mark.parametrize(
    "own, cgroup, files, expected",
    [
        ("0::/", "", {"cpu.max": "200000 100000"}, 2),
        ("0::/a/b", "a", {"cpu.max": "150000 100000"}, 1.5),  # the limit of a parent group
        ("0::/a/b", "a/b", {"cpu.max": "max 100000"}, math.inf),
        (
            "3:cpu,cpuacct:/box\n2:memory:/box",
            "cpu,cpuacct/box",
            {"cpu.cfs_quota_us": "300000", "cpu.cfs_period_us": "100000"},
            3,
        ),
        (  # in the container its group is the root
            "3:cpu:/docker/box",
            "cpu",
            {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"},
            0.5,
        ),
        ("3:cpu:/", "cpu", {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, math.inf),
        ("0::/", "", {"cpu.max": "what is this"}, math.inf),
        ("", "", {}, math.inf),
    ],
)
def test_the_cpu_limit_of_a_container_is_read(own, cgroup, files, expected, linux):
    linux.write("own", own)
    for name, text in files.items():
        linux.write(f"cgroup/{cgroup}/{name}", text)
    assert cores.cpu_limit() == expected


def test_a_cpu_limit_reduces_the_threads(linux):
    linux.add_cores(*core_pairs(32))
    linux.write("own", "0::/")
    linux.write("cgroup/cpu.max", "150000 100000")
    assert cores.thread_candidates() == (2,)
    linux.write("cgroup/cpu.max", "4000000 100000")  # 40 of 64
    assert cores.thread_candidates() == (32, 40)


def test_cores_are_shared_evenly_and_their_threads_stay_together(linux):
    linux.add_cores(*core_pairs(4))
    assert cores.physical_cores([0, 1, 4]) == [[0, 4], [1]]
    assert [cores.divide_cores(range(8), n, 2) for n in (0, 1)] == [[0, 4, 1, 5], [2, 6, 3, 7]]
    assert [cores.divide_cores([0, 1, 2], n, 2) for n in (0, 1)] == [[0], [1, 2]]
    assert [cores.divide_cores([3, 2], n, 3) for n in range(3)] == [[3], [2], [3]]
    assert cores.divide_cores([1, 3], 0, 1) == [1, 3]


def test_the_cores_of_this_machine_are_consistent():
    counts = cores.thread_candidates()
    assert 1 <= counts[0] <= max(counts) <= len(cores.allowed_cores()) <= (os.cpu_count() or 1)
    assert sorted(
        core for group in cores.physical_cores(cores.allowed_cores()) for core in group
    ) == (cores.allowed_cores())


@pytest.mark.skipif(not cores.supports_affinity(), reason="this system cannot pin a process")
def test_all_threads_of_a_process_are_pinned_to_its_cores():
    core = cores.allowed_cores()[-1]
    code = (
        "import os, sys, threading; from engine.cores import pin_to, allowed_cores;"
        "wait = threading.Event(); before = threading.Thread(target=wait.wait); before.start();"
        f"pin_to([{core}]); print(*allowed_cores());"
        "linux = sys.platform == 'linux'; tasks = os.listdir('/proc/self/task') if linux else [];"
        "print(*sorted({tuple(os.sched_getaffinity(int(task))) for task in tasks}));"
        "wait.set()"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    allowed, *threads = child.stdout.splitlines()
    assert allowed == str(core)
    if sys.platform == "linux":
        assert threads == [f"({core},)"]


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("", ()),
        ("  ", ()),
        ("0", (0,)),
        ("0-3,8", (0, 1, 2, 3, 8)),
        (" 8, 0-1", (0, 1, 8)),
        ("2,2,1-3", (1, 2, 3)),
    ],
)
def test_a_list_of_cores_is_read_and_written(text, numbers):
    assert parse_ranges(text) == numbers
    assert parse_ranges(format_ranges(numbers)) == numbers
    assert format_ranges([8, 3, 0, 1, 2, 10, 11]) == "0-3,8,10-11"


@pytest.mark.parametrize(
    "text, message",
    [
        ("0-3;8", "“0-3;8” is neither a number nor a range"),
        ("0,,1", "“” is neither a number"),
        ("-1", "“-1” is neither a number"),
        ("all", "write numbers and ranges separated by commas, for example 0-3,8"),
        ("3-1", "“3-1” runs backwards: write 1-3"),
        ("0-9999999", "is neither a number nor a range"),
    ],
)
def test_an_invalid_list_of_cores_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_ranges(text)
