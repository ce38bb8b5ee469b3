"""A record that is missing, incomplete, or damaged in ways that SQLite does not notice."""

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from app.__main__ import main
from engine.errors import DiskFull
from engine.files.home import Home
from engine.record.backups import all_backups, back_up
from engine.record.opening import VERSION, open_record
from engine.record.rebuild import rebuild, refill
from engine.record.run_manager import RunManager
from engine.record.runs import Run, all_runs, annotate
from engine.runs.folder import RunFolder
from tests.engine import faults
from tests.engine.runs.forked import Forked

Train = Callable[[str], RunFolder]


@pytest.fixture
def used_home(home: Home, train: Train) -> Home:
    """Two annotated runs in a backup, and a third run created after it."""
    for name in ("one", "two", "lost"):
        train(name)
    rebuild(home)
    record = open_record(home.record, home.backups)
    with record.session() as session:
        annotate(session, "one", name="Mine")
        annotate(session, "two", notes="line\nby line", star=True, archived=True)
        annotate(session, "two", tags=["paper", "ward 7"])
    back_up(home.record, home.backups, "daily")
    shutil.rmtree(home.runs / "lost")  # now only the record knows it
    train("three")
    refill(record, home)
    with record.session() as session:
        annotate(session, "three", notes="said after the backup")
    record.close()
    return home


def runs_and_notices(home: Home) -> tuple[dict[str, Run], str]:
    """The runs after a start of the window, and its notices."""
    record = open_record(home.record, home.backups)
    updates = RunManager(record, home).settle()
    notices = " ".join(str(part) for update in updates for part in (update.signal, *update.values))
    with record.read() as session:
        runs = {run.id: run for run in all_runs(session)}
    record.close()
    reopened = open_record(home.record, home.backups)
    assert (reopened.set_aside, reopened.restored) == (None, None)  # reported once
    reopened.close()
    return runs, notices


def check_annotations(home: Home) -> tuple[dict[str, Run], str]:
    runs, notices = runs_and_notices(home)
    assert set(runs) == {"one", "two", "three", "lost"} and runs["one"].name == "Mine"
    second = runs["two"]
    assert (second.notes, second.star, second.archived) == ("line\nby line", True, True)
    assert second.tags == ["paper", "ward 7"]
    return runs, notices


def change(home: Home, *statements: str) -> None:
    with closing(sqlite3.connect(home.record, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def schema_change(old: str, new: str) -> tuple[str, ...]:
    """Change the stored SQL of the tables, as flipped bits may."""
    return (
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}')",
        "PRAGMA writable_schema = OFF",
    )


MISSING = {
    "deleted": lambda home: [f.unlink() for f in home.root.glob("studio.db*")],
    "empty": lambda home: home.record.write_bytes(b""),
    "never finished": lambda home: (home.record.unlink(), change(home, "PRAGMA journal_mode=WAL")),
}
UNDETECTED = {  # all pass the quick check of SQLite
    "a date": "UPDATE runs SET created = '2026-13-45' WHERE id = 'one'",
    "a state": "UPDATE runs SET state = 'runming'",
    "a job": "UPDATE runs SET job = '{\"name\": ' WHERE id = 'two'",
    "remarks": "UPDATE runs SET remarks = '[\"x'",
    "text as a number": "UPDATE runs SET step = 'x' WHERE id = 'one'",
    "a path": "UPDATE checkpoints SET folder = 'x' || rowid, run_id = 'nobody'",
    "a point": "UPDATE metrics SET value = 'high' WHERE step = 2",
    "a column": "ALTER TABLE runs RENAME COLUMN loss TO boss",
    "a table": "ALTER TABLE metrics RENAME TO matrics",
    "the version": "PRAGMA user_version = 16777217",
    "the revision": "UPDATE alembic_version SET version_num = '00Q1'",
    "a foreign key": schema_change("REFERENCES runs", "REFERENCES rums"),
    "a cascade": schema_change("ON DELETE CASCADE", "ON DELETE NO ACTION"),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_record_is_restored_from_its_newest_backup(used_home, kind):
    MISSING[kind](used_home)
    runs, notices = check_annotations(used_home)
    assert {run.state for run in runs.values()} == {"finished"}
    assert "missing" in notices and "backup" in notices and "run_added three" in notices


@pytest.mark.parametrize("kind", UNDETECTED)
def test_damage_that_sqlite_misses_is_found_and_annotations_survive(used_home, kind):
    statements = UNDETECTED[kind]
    change(used_home, *([statements] if isinstance(statements, str) else statements))
    runs, notices = check_annotations(used_home)
    assert runs["three"].notes == "said after the backup"  # salvaged from the damaged one
    assert "damaged" in notices and "corrupt-" in notices
    assert len(list(used_home.root.glob("studio.db.corrupt-*"))) == 1


def test_a_damaged_backup_is_skipped_for_an_older_one(used_home):
    newest = back_up(used_home.record, used_home.backups, "daily")
    newest.write_bytes(newest.read_bytes()[:5000])
    used_home.record.unlink()
    runs, _ = runs_and_notices(used_home)
    assert runs["one"].name == "Mine" and "lost" in runs


def test_rebuild_can_set_aside_a_record_of_a_newer_program(used_home, capsys):
    change(used_home, f"PRAGMA user_version = {VERSION + 1}")
    content = used_home.record.read_bytes()
    assert main(["rebuild"]) == 1
    assert "rebuild --set-aside" in capsys.readouterr().err
    assert used_home.record.read_bytes() == content
    assert main(["rebuild", "--set-aside"]) == 0
    runs, _ = runs_and_notices(used_home)
    assert (runs["one"].name, runs["three"].notes) == ("Mine", "said after the backup")
    (corrupt_file,) = used_home.root.glob("studio.db.corrupt-*")
    assert corrupt_file.read_bytes() == content


@pytest.mark.parametrize("number", [0, 8, 24])
def test_a_killed_first_start_reports_no_damage(tmp_path, monkeypatch, number):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    home = Home()

    def start() -> None:
        statements = count()

        @event.listens_for(Engine, "before_cursor_execute")
        def kill(*_: object) -> None:
            if next(statements) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        home.make()
        open_record(home.record, home.backups).close()

    assert Forked(start).wait() == -9
    runs, notices = runs_and_notices(home)
    assert (runs, notices) == ({}, "")
    assert list((tmp_path / "home").glob("studio.db.corrupt-*")) == []


def test_a_start_after_one_on_a_full_disk_reports_no_damage(tmp_path, monkeypatch):
    with faults.small_disk(tmp_path / "disk", kilobytes=512) as disk:
        home = Home(disk / "home")
        home.make()
        monkeypatch.setenv("BERT_STUDIO_HOME", str(home.root))
        for free in range(0, 96, 8):  # in kB
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(shutil.disk_usage(disk).free - free * 1024))
            with suppress(DiskFull):
                open_record(home.record, home.backups).close()
            ballast.unlink()
        assert runs_and_notices(home)[1] == ""
        assert list(home.root.glob("studio.db.corrupt-*")) == []


def test_the_newest_backup_is_private(used_home):
    assert all_backups(used_home.backups)[-1].stat().st_mode & 0o077 == 0
    os.unlink(used_home.record)
    runs_and_notices(used_home)
    assert used_home.record.stat().st_mode & 0o077 == 0
