"""Writes are complete or absent, however they are interrupted."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import DiskFull
from engine.files.atomic_write import (
    atomic_folder,
    clear_file_leftovers,
    clear_leftovers,
    remove_atomically,
    sha256,
    temporary_path,
    verify,
    write_file,
)
from engine.system.errors import explain_error
from tests.engine import faults
from tests.often import times

SETUP = """
from pathlib import Path
from engine.files.atomic_write import atomic_folder, write_file
target = Path({target!r})
"""
SAVE_FOLDER = """
with atomic_folder(target) as folder:
    for name in ("a", "b"):
        with open(folder / name, "w") as file:
            file.write("new" * 1000)
"""
SAVE_MANY = """
top = target
for number in range({count}):
    target = top / str(number)
""" + SAVE_FOLDER.replace("\n", "\n    ")
SAVE_FILE = "write_file(target, b'new' * 1000)"


def old_folder(path: Path) -> Path:
    with atomic_folder(path) as folder:
        (folder / "a").write_text("old")
    return path


def contents(folder: Path) -> str:
    """“old” or “new”; anything else fails."""
    verify(folder)
    names = {file.name for file in folder.iterdir()}
    text = (folder / "a").read_text()
    if text == "old":
        assert names == {"a", "manifest.json"}
        return "old"
    assert names == {"a", "b", "manifest.json"}
    assert text == (folder / "b").read_text() == "new" * 1000
    return "new"


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_a_folder_is_old_or_new_wherever_a_save_is_interrupted(tmp_path, fault):
    setup = SETUP.format(target=str(tmp_path / "0" / "checkpoint"))
    count = faults.count_calls(setup, SAVE_FOLDER)
    assert count > 8
    outcomes = list[str]()
    for number in range(1, count + 1):
        target = old_folder(tmp_path / f"{fault}-{number}" / "checkpoint")
        setup = SETUP.format(target=str(target))
        process = faults.run(setup, SAVE_FOLDER, fault, number)  # type: ignore[arg-type]
        if fault == "kill":
            assert process.returncode == -signal.SIGKILL
        elif process.returncode:  # 0: the failing call may fail, such as a test for existence
            assert "DiskFull: The disk is full" in process.stderr
        clear_leftovers(target.parent)
        assert [entry.name for entry in target.parent.iterdir()] == ["checkpoint"]
        outcome = contents(target)
        assert process.returncode or outcome == "new"
        outcomes.append(outcome)
    assert outcomes.count("old") >= 5


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_a_file_is_old_or_new_wherever_a_write_is_interrupted(tmp_path, fault):
    first = tmp_path / "first"
    count = faults.count_calls(SETUP.format(target=str(first)), SAVE_FILE)
    assert count >= 3
    for number in range(1, count + 1):
        target = tmp_path / f"{fault}-{number}"
        target.write_bytes(b"old")
        faults.run(SETUP.format(target=str(target)), SAVE_FILE, fault, number)  # type: ignore[arg-type]
        assert target.read_bytes() in (b"old", b"new" * 1000)
    clear_leftovers(tmp_path)
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


@times(2, 1_000)
def test_the_order_is_flush_then_rename_then_flush_of_the_parent(tmp_path, count):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    code = SETUP.format(target=str(tmp_path)) + SAVE_MANY.format(count=count)
    process = subprocess.run(
        ["strace", "-f", "-y", "-e", "trace=fsync,rename", sys.executable, "-c", code],
        capture_output=True, text=True, check=False,
        cwd=faults.REPOSITORY,
    )  # fmt: skip
    if "ptrace" in process.stderr and "permitted" in process.stderr:
        pytest.skip("ptrace is not permitted")
    lines = [line for line in process.stderr.splitlines() if str(tmp_path) in line]
    renames = [number for number, line in enumerate(lines) if "rename(" in line]
    assert len(renames) == count
    for before, current in zip([-2, *renames], renames, strict=False):
        flushed = [line for line in lines[before + 2 : current] if "fsync(" in line]
        assert any("/a>" in line for line in flushed) and any("/b>" in line for line in flushed)
        assert "manifest.json>" in flushed[-2]  # the manifest last, then its folder
        assert f"<{tmp_path}>" in lines[current + 1]


def test_a_write_beyond_the_size_limit_raises_disk_full(tmp_path):
    target = old_folder(tmp_path / "checkpoint")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limit[1]))
    try:
        with pytest.raises(DiskFull, match="The disk is full"), atomic_folder(target) as folder:
            (folder / "a").write_text("new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert contents(target) == "old"


def test_nothing_is_written_through_a_link(tmp_path):
    target = tmp_path / "precious"
    target.mkdir()
    (target / "a").write_text("mine")
    link = tmp_path / "checkpoint"
    link.symlink_to(target)
    with atomic_folder(link) as folder:
        (folder / "a").write_text("new")
    assert not link.is_symlink() and (target / "a").read_text() == "mine"

    file = tmp_path / "settings.json"
    file.symlink_to(target / "a")
    write_file(file, b"new")
    assert not file.is_symlink() and (target / "a").read_text() == "mine"


def test_a_device_is_never_replaced(tmp_path, monkeypatch):
    folder = tmp_path / "null"
    folder.write_text("as if it were a device")
    real_lstat = os.lstat

    def lstat(path: str | Path, **options: int) -> os.stat_result:
        status = real_lstat(path, **options)
        if Path(path) != folder:
            return status
        return os.stat_result((stat.S_IFCHR | 0o666, *tuple(status)[1:]))

    monkeypatch.setattr(os, "lstat", lstat)
    monkeypatch.setattr(Path, "lstat", lstat)
    with pytest.raises(OSError, match="null") as refused:
        write_file(folder, b"new")
    error = explain_error(refused.value)
    assert error is not None and "a pipe or a device" in error.problem
    with pytest.raises(OSError, match="null"), atomic_folder(folder):
        pass
    assert folder.read_text() == "as if it were a device"
    assert sorted(tmp_path.iterdir()) == [folder], "no temporary folder is left"


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "🦜" * 63 + "xyz"])
def test_a_name_of_any_length_the_disk_allows_can_be_written(tmp_path, name):
    for _ in range(2):  # the second replaces the first
        write_file(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"
    with atomic_folder(tmp_path / "in" / name) as folder:
        (folder / "a").write_text("first")
    folder = old_folder(tmp_path / "in" / name)
    assert contents(folder) == "old"
    leftover = temporary_path(folder)
    leftover.mkdir()
    clear_file_leftovers(folder)
    assert not leftover.exists() and folder.exists()
    remove_atomically(folder)
    assert list(folder.parent.iterdir()) == []


def test_a_manifest_has_size_and_checksum_of_every_file(tmp_path):
    folder = old_folder(tmp_path / "checkpoint")
    entries = json.loads((folder / "manifest.json").read_text())["files"]
    assert entries == {"a": {"bytes": 3, "sha256": sha256(folder / "a")}}
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0


def test_an_interrupted_removal_leaves_no_folder(tmp_path, monkeypatch):
    folder = tmp_path / "step-00000008"
    with atomic_folder(folder) as temporary:
        (temporary / "weights").write_bytes(b"1")

    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupt)
    with pytest.raises(KeyboardInterrupt):
        remove_atomically(folder)
    monkeypatch.undo()
    assert not folder.exists()
    clear_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []
