"""Network and synchronised drives are detected, and the record is adapted to them."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from engine.files.home import Home
from engine.record.opening import open_record
from engine.record.tables import get_fact, set_fact
from engine.runs.launch import CODE
from engine.system import drives
from engine.system.drives import Drive, conflict_copies, detect_drive


def mount(monkeypatch: pytest.MonkeyPatch, *mounts: tuple[Path, str]) -> None:
    """Simulate these mounted file systems, below a local one."""
    partitions = [
        SimpleNamespace(mountpoint=str(mountpoint), fstype=kind, opts="rw")
        for mountpoint, kind in ((Path("/"), "ext4"), *mounts)
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: partitions)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smbfs", "fuse.sshfs", "9p", "fuse.rclone"])
def test_a_network_drive_is_detected_by_its_file_system(tmp_path, monkeypatch, kind):
    mount(monkeypatch, (tmp_path / "far", kind), (tmp_path / "far" / "near", "ext4"))
    assert detect_drive(tmp_path / "far" / "home") == Drive("network", kind)
    assert detect_drive(tmp_path / "far" / "near" / "home") == Drive("local", "")
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far")
    assert detect_drive(tmp_path / "link" / "home").kind == "network"


def test_a_drive_of_this_machine_is_local(tmp_path):
    assert detect_drive(tmp_path) == Drive("local", "")


@pytest.mark.parametrize(
    "folder, mark, program",
    [
        ("Dropbox/mine", "", "Dropbox"),
        ("OneDrive - A Firm/x", "", "OneDrive"),
        ("Library/Mobile Documents/y", "", "iCloud"),
        ("shared/mine", "shared/.stfolder", "Syncthing"),
        ("cloud/mine", "cloud/.sync_0a1b.db", "Nextcloud"),
    ],
)
def test_a_synchronised_folder_is_detected(tmp_path, folder, mark, program):
    (tmp_path / folder).mkdir(parents=True)
    if mark:
        (tmp_path / mark).touch()
    assert detect_drive(tmp_path / folder / "home") == Drive("synced", program)


def test_conflicting_copies_are_found(home):
    for name in ("studio.db", "studio (ann's conflicted copy 2026-11-22).db"):
        (home.root / name).touch()
    (home.root / "studio.sync-conflict-20261122-a1.db").touch()
    assert len(conflict_copies(home.record)) == 2


def journal(home: Home) -> str:
    with closing(sqlite3.connect(home.record)) as connection:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


KILLED = """
import os, signal
from engine.system import drives
from engine.files.home import Home
from engine.record import opening
opening.detect_drive = lambda folder: drives.Drive("network", "nfs4")
home = Home()
record = opening.open_record(home.record, home.backups)
with record.session() as session:
    direct = session.connection().exec_driver_sql
    for setting in ("cache_spill = 1", "cache_size = 5"):  # pages; more are written to the file
        direct(f"PRAGMA {setting}")
    direct("UPDATE about SET value = value || value || value WHERE key LIKE 'fact%'")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_record_on_a_network_drive_has_no_log_and_survives_a_kill(home, monkeypatch):
    record = open_record(home.record, home.backups)
    with record.session() as session:
        for number in range(300):
            set_fact(session, f"fact {number}", "before" * 80)
    record.close()
    assert journal(home) == "wal"
    result = subprocess.run(
        [sys.executable, "-c", KILLED], env={**os.environ, "PYTHONPATH": str(CODE)}
    )
    assert result.returncode == -signal.SIGKILL
    assert home.record.with_name("studio.db-journal").exists()
    monkeypatch.setattr(
        "engine.record.opening.detect_drive", lambda _: drives.Drive("network", "nfs4")
    )
    record = open_record(home.record, home.backups)
    with record.read() as session:
        assert {get_fact(session, f"fact {number}") for number in range(300)} == {"before" * 80}
    assert record.set_aside is None
    record.close()
    assert journal(home) == "delete"
    monkeypatch.undo()
    open_record(home.record, home.backups).close()
    assert journal(home) == "wal"  # the home was moved to a local drive
