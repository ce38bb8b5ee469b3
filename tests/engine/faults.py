"""Run code in a subprocess in which the Nth disk call fails.

Calls are counted by the interpreter's audit hook and by wrappers around fsync, rename, replace and
mkdir; the faults are real: the process is killed, or the call raises what a full disk raises.
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
fault, failing_call, count = {fault!r}, {number}, 0
def fail(*_):
    global count
    count += 1
    if count != failing_call:
        return
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
def failing(original):
    def call(*a, **k):
        fail()
        return original(*a, **k)
    return call
for name in ("fsync", "rename", "replace", "mkdir"):
    setattr(os, name, failing(getattr(os, name)))
def hook(event, arguments):
    if event == "open" and str(arguments[1]).strip("bt+") in ("w", "x", "a"):
        fail()
sys.addaudithook(hook)
{code}
print(count)
"""


def run(
    setup: str, code: str, fault: Literal["kill", "full", "none"], number: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run `setup`, then `code` with call `number` (from 1) failing; prints the number of calls."""
    program = RUNNER.format(
        repository=str(REPOSITORY), setup=setup, code=code, fault=fault, number=number
    )
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


def count_calls(setup: str, code: str) -> int:
    """Count the calls that can fail."""
    result = run(setup, code, "none")
    assert result.returncode == 0, result.stderr
    return int(result.stdout.split()[-1])


@contextmanager
def small_disk(path: Path, kilobytes: int, options: str = "rw") -> Iterator[Path]:
    """A separate file system at `path`; skips the test if mounting is not permitted."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,{options}", "tmpfs", str(path)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a disk")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


CAPABILITY_VERSION = 0x20080522  # version of the interface, capset(2)
DAC_CAPABILITIES = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


@contextmanager
def without_root_privileges() -> Iterator[None]:
    """Enforce file permissions in this thread, also for root."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    before = data[0]  # effective set
    data[0] = before & ~DAC_CAPABILITIES
    assert libc.capset(header, data) == 0
    try:
        yield
    finally:
        data[0] = before
        assert libc.capset(header, data) == 0
