"""Backups of the record, each checked before an older one is deleted.

Only SQLite itself ever opens the file: a plain open and close in this process would drop its locks.
"""

import os
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import StudioError
from engine.files.atomic_write import disk_errors_for, is_full, temporary_path
from engine.phrases import phrase
from engine.record.checking import Damaged, is_sound, read_version

MAX_BACKUPS = 5  # per reason
NAME = re.compile(r"studio-(\d{6})-(\d{8})-([a-z]+)\.db")


def back_up(record: Path, backups: Path, reason: str) -> Path:
    """Copy the record while it may be in use; the copy is complete, checked and durable, or absent.

    Backups are numbered, not dated: a wrong clock cannot cause the newest one to be deleted.
    """
    number = max((_number(b) for b in all_backups(backups)), default=0) + 1
    target = backups / f"studio-{number:06d}-{datetime.now(UTC):%Y%m%d}-{reason}.db"
    temporary = target.with_suffix(".tmp")
    with disk_errors_for(target):
        backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            _copy(record, temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    same_reason = [b for b in all_backups(backups) if b.stem.endswith(f"-{reason}")]
    for old in same_reason[:-MAX_BACKUPS]:
        old.unlink(missing_ok=True)
    return target


def back_up_daily(record: Path, backups: Path) -> Path | None:
    """Back up the record once a day if it changed since the last backup."""
    newest = all_backups(backups)[-1:]
    if newest:
        same_day = f"-{datetime.now(UTC):%Y%m%d}-" in newest[0].name
        files = (record, record.with_name(record.name + "-wal"))
        changed = max(file.stat().st_mtime for file in files if file.exists())
        if same_day or changed <= newest[0].stat().st_mtime:
            return None
    return back_up(record, backups, "daily")


def all_backups(backups: Path) -> list[Path]:
    """Every backup, the newest last."""
    files = backups.iterdir() if backups.is_dir() else ()
    return sorted((b for b in files if NAME.fullmatch(b.name)), key=_number)


def newest_intact(backups: Path, version: int) -> Path | None:
    """The newest undamaged backup with at most this `version` of the tables."""
    for backup in reversed(all_backups(backups)):
        try:
            if read_version(backup, version):
                return backup
        except (Damaged, StudioError, OSError):
            continue  # an older one may be good
    return None


def restore(backup: Path, record: Path) -> None:
    """Copy `backup` to the path of the record, which must not exist; all or nothing."""
    temporary = temporary_path(record)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _copy(backup, temporary)
        os.rename(temporary, record)
    finally:
        temporary.unlink(missing_ok=True)


def backup_date(backup: Path) -> str:
    match = NAME.fullmatch(backup.name)
    return f"{match[2][:4]}-{match[2][4:6]}-{match[2][6:]}" if match else ""


def _copy(record: Path, copy: Path) -> None:
    advice = phrase("Close BERT Studio and check the disk. The run database itself is unchanged.")
    try:
        with closing(sqlite3.connect(copy)) as target:
            with closing(sqlite3.connect(record, timeout=10)) as source:
                source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
            if not is_sound(target):
                raise StudioError("The backup of the run database is damaged.", advice)
    except sqlite3.Error as error:
        if is_full(error):
            raise
        raise StudioError(
            "The run database could not be backed up: {error}.", advice, error=error
        ) from error
    descriptor = os.open(copy, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _number(backup: Path) -> int:
    match = NAME.fullmatch(backup.name)
    return int(match[1]) if match else 0
