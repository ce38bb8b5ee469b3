import os
import sqlite3
from contextlib import closing

import pytest

from engine.errors import StudioError
from engine.record.backups import MAX_BACKUPS, all_backups, back_up, back_up_daily
from engine.record.opening import open_record
from engine.record.tables import get_fact, set_fact


def test_a_backup_is_an_independent_record(home, record):
    with record.session() as session:
        set_fact(session, "colour", "blue")
        copy = back_up(home.record, home.backups, "daily")  # while a transaction is open
    copy = back_up(home.record, home.backups, "daily")
    assert [f for f in home.backups.iterdir() if f.suffix != ".db"] == []
    with closing(sqlite3.connect(copy)) as connection:
        rows = connection.execute("SELECT value FROM about WHERE key = 'colour'").fetchall()
    assert rows == [("blue",)]
    reopened = open_record(copy, home.backups)
    with reopened.read() as session:
        assert get_fact(session, "colour") == "blue"
    reopened.close()


def test_the_oldest_backups_of_each_reason_are_deleted_by_number(home, record):
    first = back_up(home.record, home.backups, "upgrade")
    for _ in range(MAX_BACKUPS + 2):
        newest = back_up(home.record, home.backups, "daily")
        os.utime(newest, (0, 0))  # a wrong clock
    backups = all_backups(home.backups)
    assert backups[0] == first and backups[-1] == newest and len(backups) == MAX_BACKUPS + 1


def test_the_daily_backup_is_made_once_and_only_after_a_change(home, record):
    first = back_up_daily(home.record, home.backups)
    assert first is not None
    with record.session() as session:
        set_fact(session, "colour", "blue")
    assert back_up_daily(home.record, home.backups) is None
    yesterday = first.rename(home.backups / "studio-000001-20200101-daily.db")
    os.utime(yesterday, (1, 1))
    assert back_up_daily(home.record, home.backups) is not None
    record.close()
    for backup in all_backups(home.backups):
        backup.unlink()
    unchanged = home.backups / "studio-000003-20200101-daily.db"
    unchanged.write_bytes(b"")
    assert back_up_daily(home.record, home.backups) is None


def test_an_invalid_record_is_not_backed_up(home):
    home.record.write_bytes(b"no record at all" * 1000)
    with pytest.raises(StudioError, match="could not be backed up"):
        back_up(home.record, home.backups, "daily")
    assert list(home.backups.iterdir()) == []
