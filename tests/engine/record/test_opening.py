import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from engine.errors import DiskFull, StudioError
from engine.files.home import Home
from engine.record import opening, rebuild
from engine.record.backups import all_backups
from engine.record.checking import NewerRecord
from engine.record.opening import Record, open_record
from engine.record.runs import add_run, all_runs, find_run
from engine.record.tables import Table, get_fact, set_fact
from engine.runs.folder import RunFolder
from engine.runs.launch import CODE
from tests.engine.runs import fake_worker
from tests.engine.runs.forked import Forked
from tests.engine.runs.waiting import until
from tests.often import times


def reopen(home: Home) -> Record:
    return open_record(home.record, home.backups)


def run_program(code: str, *arguments: object) -> int:
    """Run the code in a process; returns its exit code."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(CODE)}).returncode


def files(home: Home) -> dict[str, str]:
    """Every file at the top of the home except the index of the log, which SQLite recreates."""
    paths = (f for f in home.root.iterdir() if f.is_file() and not f.name.endswith("-shm"))
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in paths}


# ── versions ─────────────────────────────────────────────────────────────────────────────────


def test_the_migrations_match_the_declared_tables(home, record):
    engine = create_engine(f"sqlite:///{home.record}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        assert compare_metadata(context, Table.metadata) == []
        assert connection.scalar(text("PRAGMA user_version")) == opening.VERSION
    engine.dispose()


@pytest.mark.parametrize("changed", ["number", "revision"])
@pytest.mark.parametrize("log", ["with its log", "closed"])
def test_a_newer_record_is_refused_and_unchanged(home, changed, log):
    record = reopen(home)
    with record.session() as session:
        set_fact(session, "program", "9.1.2")
    record.close()
    number = opening.VERSION + 1
    change = (
        f"PRAGMA user_version = {number}"
        if changed == "number"
        else f"UPDATE alembic_version SET version_num = '{number:04d}'"
    )
    code = "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
    code += "c.execute(sys.argv[2]); c.commit();"
    code += "os._exit(0)" if log == "with its log" else "c.close()"
    assert run_program(code, home.record, change) == 0
    before = files(home)
    assert ("studio.db-wal" in before) == (log == "with its log")
    with pytest.raises(NewerRecord, match=r"newer BERT Studio \(9\.1\.2\)"):
        reopen(home)
    with pytest.raises(NewerRecord):
        rebuild.rebuild(home)
    assert files(home) == before
    assert all_backups(home.backups) == []


CURRENT, NEXT = opening.VERSION, opening.VERSION + 1
NEXT_MIGRATION = f'''
"""One more table."""
from alembic import op
revision = "{NEXT:04d}"
down_revision = "{CURRENT:04d}"


def upgrade() -> None:
    op.execute("CREATE TABLE more (name TEXT)")
    op.execute("UPDATE runs SET notes = 'upgraded'")
    op.execute("PRAGMA user_version = {NEXT}")
'''


@pytest.fixture
def add_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Adds a migration."""

    def add(migration: str) -> None:
        folder = tmp_path / "mi%grations"
        if not folder.exists():
            shutil.copytree(opening.MIGRATIONS, folder)
        (folder / "versions" / f"v{NEXT:04d}_more.py").write_text(migration)
        monkeypatch.setattr(opening, "MIGRATIONS", folder)
        monkeypatch.setattr(opening, "VERSION", NEXT)

    return add


def add_one_run(home: Home) -> None:
    record = reopen(home)
    with record.session() as session:
        add_run(
            session,
            RunFolder.create(home.runs / "one", fake_worker.job()),
            fake_worker.job(),
            "stopped",
        )
    record.close()


def read_state(file: Path) -> tuple[int, list[str]]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return version, [notes for (notes,) in connection.execute("SELECT notes FROM runs")]


def test_an_older_record_is_backed_up_and_upgraded(home, add_migration):
    add_one_run(home)
    add_migration(NEXT_MIGRATION)
    reopen(home).close()
    assert read_state(home.record) == (NEXT, ["upgraded"])
    (backup,) = all_backups(home.backups)
    assert backup.name.endswith("-upgrade.db") and read_state(backup) == (CURRENT, [""])
    reopen(home).close()
    assert len(all_backups(home.backups)) == 1


def test_a_record_of_the_first_version_is_upgraded(home, monkeypatch, tmp_path):
    migrations = tmp_path / "first"
    shutil.copytree(opening.MIGRATIONS, migrations)
    for later in sorted((migrations / "versions").glob("v*.py"))[1:]:
        later.unlink()
    config = Config()
    config.set_main_option("script_location", str(migrations))
    config.set_main_option("path_separator", "os")
    engine = create_engine(f"sqlite:///{home.record}")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    engine.dispose()
    assert read_state(home.record) == (1, [])
    add_one_run(home)
    record = reopen(home)
    with record.read() as session:
        (run,) = all_runs(session)
    record.close()
    assert (run.tags, run.archived) == ([], False)
    assert read_state(home.record)[0] == CURRENT


def test_an_upgrade_that_fails_leaves_the_old_record(home, add_migration):
    add_one_run(home)
    add_migration(
        NEXT_MIGRATION.replace(f"PRAGMA user_version = {NEXT}", "INSERT INTO nothing VALUES (1)")
    )
    with pytest.raises(StudioError, match="could not be upgraded"):
        reopen(home)
    assert read_state(home.record) == (CURRENT, [""])


def test_a_killed_upgrade_leaves_the_old_record_and_is_repeated(home, add_migration):
    add_one_run(home)
    kill_code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    add_migration(NEXT_MIGRATION + f"    exec({kill_code!r})\n")
    assert Forked(lambda: reopen(home).close()).wait() == -9
    assert read_state(home.record) == (CURRENT, [""])
    add_migration(NEXT_MIGRATION)
    reopen(home).close()
    assert read_state(home.record) == (NEXT, ["upgraded"])


def test_alembic_is_imported_only_for_a_migration(home):
    reopen(home).close()
    code = """
import sys
from engine.files.home import Home
from engine.record.opening import open_record
home = Home()
open_record(home.record, home.backups).close()
assert not {"alembic", "torch", "PySide6"} & set(sys.modules)
"""
    assert run_program(code) == 0


# ── opening ─────────────────────────────────────────────────────────────────────────


def test_connections_are_durable_and_enforce_foreign_keys(record):
    with record.session() as session:
        pragmas = [
            session.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    assert pragmas == ["wal", 2, 1, 10_000]


def test_a_transaction_is_atomic(home, record):
    folder = RunFolder.create(home.runs / "one", fake_worker.job())
    with pytest.raises(ZeroDivisionError), record.session() as session:  # noqa: PT012
        add_run(session, folder, fake_worker.job(), "queued")
        _ = 1 / 0
    with record.read() as session:
        assert all_runs(session) == []


def test_a_transaction_takes_the_write_lock_at_its_start(home, record):
    with (
        record.session(),
        closing(sqlite3.connect(home.record, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")


def test_a_reader_sees_a_snapshot(home, record):
    with record.read() as reading:
        assert find_run(reading, "one") is None
        with record.session() as session:
            folder = RunFolder.create(home.runs / "one", fake_worker.job())
            add_run(session, folder, fake_worker.job(), "queued")
        assert find_run(reading, "one") is None
    with record.read() as reading:
        assert find_run(reading, "one") is not None


@pytest.mark.skipif(os.name == "nt", reason="links need privileges on Windows")
def test_the_record_is_not_written_through_a_link(home, tmp_path):
    home.record.symlink_to(tmp_path / "aim")
    with pytest.raises(StudioError, match="is a link"):
        reopen(home)
    assert not (tmp_path / "aim").exists()


def test_paths_follow_a_moved_home(home, train, tmp_path):
    train("one")
    rebuild.rebuild(home)
    moved_home = Home(tmp_path / "else where")
    os.rename(home.root, moved_home.root)
    record = reopen(moved_home)
    with record.read() as session:
        (run,) = all_runs(session)
    record.close()
    assert run.folder == moved_home.runs / "one"


def test_a_full_disk_is_reported(record):
    with pytest.raises(DiskFull, match="The disk is full"), record.session() as session:  # noqa: PT012
        pages = session.scalar(text("PRAGMA page_count"))
        session.execute(text(f"PRAGMA max_page_count = {pages}"))
        set_fact(session, "much", "x" * 1_000_000)


# ── concurrency ─────────────────────────────────────────────────────────────────────────────

WRITERS = 2


@times(20, 2_000)
def test_writers_and_readers_never_meet_a_locked_record(home, count):
    """Each transaction reads, then writes; without the write lock at its start it would fail."""
    reopen(home).close()
    go = home.root / "go"

    def write(writer: str) -> None:
        own_record = reopen(home)
        until(go.exists)
        for number in range(count):
            with own_record.session() as session:
                total = int(get_fact(session, "count") or 0)
                set_fact(session, "count", str(total + 1))
                set_fact(session, writer, str(number))
        own_record.close()

    writers = [Forked(partial(write, f"writer {number}")) for number in range(WRITERS)]
    record = reopen(home)
    done = threading.Event()
    problems: list[Exception] = []

    def keep_reading() -> None:
        while not done.wait(0.005):
            try:
                with record.read() as session:
                    first = session.scalar(text("SELECT value FROM about WHERE key = 'count'"))
                    second = session.scalar(text("SELECT value FROM about WHERE key = 'count'"))
                assert first == second
            except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
                problems.append(error)

    readers = [threading.Thread(target=keep_reading) for _ in range(2)]
    for reader in readers:
        reader.start()
    go.touch()
    codes = [writer.wait() for writer in writers]
    done.set()
    for reader in readers:
        reader.join()
    assert codes == [0] * WRITERS and problems == []
    with record.read() as session:
        assert session.scalar(text("SELECT value FROM about WHERE key = 'count'")) == str(
            WRITERS * count
        )
    log = home.record.with_name("studio.db-wal")
    assert not log.exists() or log.stat().st_size < 64 << 20
    record.close()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_log_stays_small_over_an_hour_of_events_and_reads(home, record):
    """An hour of the dispatcher's transactions, each followed by a read."""
    log, largest = home.record.with_name("studio.db-wal"), 0
    for number in range(14_400):
        with record.session() as session:
            set_fact(session, f"fact {number % 50}", "x" * 2_000)
        with record.read() as session:
            session.scalar(text("SELECT count(*) FROM about"))
        largest = max(largest, log.stat().st_size)
    assert largest < 64 << 20


# ── damage ───────────────────────────────────────────────────────────────────────────────────


def damage(kind: str, content: bytes) -> bytes:
    match kind:
        case "no record":
            return b"Dear diary, " * 500
        case "zeros at the start":
            return bytes(100) + content[100:]
        case "cut":
            return content[: len(content) // 2]
        case _:
            return content[:4096] + bytes(4096) + content[8192:]


@pytest.mark.parametrize("kind", ["no record", "zeros at the start", "cut", "a page of zeros"])
def test_a_damaged_record_is_set_aside_and_rebuilt(home, train, kind):
    train("one")
    train("two")
    rebuild.rebuild(home)
    bad = damage(kind, home.record.read_bytes())
    home.record.write_bytes(bad)
    reopen(home).close()  # interrupted before the runs are listed again
    record = reopen(home)
    (corrupt_file,) = home.root.glob("studio.db.corrupt-*")
    assert record.set_aside == corrupt_file and corrupt_file.read_bytes() == bad
    assert rebuild.refill(record, home).added == ["one", "two"]
    assert record.set_aside is None
    record.close()
    record = reopen(home)
    assert record.set_aside is None
    record.close()


def test_a_file_of_another_program_is_not_overwritten(home):
    with closing(sqlite3.connect(home.record)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
        other.commit()
    content = home.record.read_bytes()
    reopen(home).close()
    (corrupt_file,) = home.root.glob("studio.db.corrupt-*")
    assert corrupt_file.read_bytes() == content
