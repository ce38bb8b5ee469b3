"""Run code in a subprocess in which the Nth disk call fails.

Calls are counted by the interpreter's audit hook and by wrappers around fsync and write; the faults
are real: the process is killed, or the call raises what a full disk raises.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

RUNNER = """
import errno, os, signal, sys
sys.path.insert(0, {repository!r})
{setup}
way, wanted, count = {way!r}, {number}, 0
def strike(*_):
    global count
    count += 1
    if count != wanted:
        return
    if way == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
def struck(original):
    def call(*a, **k):
        strike()
        return original(*a, **k)
    return call
for name in ("fsync", "rename", "replace", "mkdir"):
    setattr(os, name, struck(getattr(os, name)))
def hook(event, arguments):
    if event == "open" and str(arguments[1]).strip("bt+") in ("w", "x", "a"):
        strike()
sys.addaudithook(hook)
{code}
print(count)
"""


def run(
    setup: str, code: str, way: Literal["kill", "full", "none"], number: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run `setup`, then `code` with its call `number` (from 1) failing; prints their count."""
    program = RUNNER.format(
        repository=str(REPOSITORY), setup=setup, code=code, way=way, number=number
    )
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


def calls(setup: str, code: str) -> int:
    """Number of calls that can fail."""
    done = run(setup, code, "none")
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


@contextmanager
def small_disk(place: Path, kilobytes: int, options: str = "rw") -> Iterator[Path]:
    """A file system of its own at `place`; skips the test if mounting is not permitted."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,{options}", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


CAPABILITIES = 0x20080522  # version of the interface, capset(2)
PASSES_ALL_RIGHTS = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


@contextmanager
def without_the_rights_of_root() -> Iterator[None]:
    """Enforce file permissions in this thread, also for root."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    before = data[0]  # effective set
    data[0] = before & ~PASSES_ALL_RIGHTS
    assert libc.capset(header, data) == 0
    try:
        yield
    finally:
        data[0] = before
        assert libc.capset(header, data) == 0
