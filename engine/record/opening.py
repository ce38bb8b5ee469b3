"""Open or upgrade the record, and provide sessions.

One process writes (the window or the queue runner), and others may read or write briefly at the
same time: there is a write-ahead log, a writer takes the write lock at the start of its
transaction, and others wait for it. On a network drive, which does not support the shared memory of
the log, SQLite's rollback journal is used.
"""

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic_core import from_json
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    String,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from engine.errors import DiskFull, StudioError
from engine.files.atomic_write import disk_errors_for
from engine.messages import now
from engine.phrases import phrase
from engine.record.backups import back_up, newest_intact, restore
from engine.record.checking import (
    ACCESS_ERRORS,
    Damaged,
    is_disk_full,
    program_version,
    read_version,
)
from engine.record.checkpoints import Checkpoint
from engine.record.metrics import Metric
from engine.record.runs import Run
from engine.record.tables import PathColumn, get_fact, set_fact
from engine.system.drives import detect_drive

VERSION = 1  # of the tables: the number of the last migration
MIGRATIONS = Path(__file__).with_name("migrations")
SETTINGS = (
    "PRAGMA busy_timeout = 10000",  # ms
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA journal_size_limit = 67108864",  # bytes
)
ASIDE = "corrupt-"  # in the name of a record that was set aside, before its date
# a run for testing the tables
TRIAL = {"task": "", "job": "{}", "state": "stopped", "created": now()}
WRITE_TIMEOUT = 30.0  # s that a writer waits for others


class RecordMoved(StudioError):
    """The file was moved, replaced or deleted while open; further writes would be lost."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            phrase(
                "The run database {path} was moved, replaced or deleted while BERT Studio was "
                "using it.",
                path=path.name,
            ),
            phrase(
                "Nothing more is recorded. Put it back, or start BERT Studio again: runs continue,"
                " and are then listed from their folders."
            ),
        )


class Record:
    """The open record.

    `set_aside` is the damaged record that was moved away, and `restored` the backup that replaced a
    damaged or missing one; both until the user has been notified.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set_aside: Path | None = None
        self.restored: Path | None = None
        self._identity = _file_identity(path)
        self._engine = _engine(path)
        self._writing = self._engine.execution_options(writes=True)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A transaction that may write; it is rolled back if the block raises.

        Raises RecordMoved if the file was moved or replaced.
        """
        self.check_moved()
        with (
            _translated_errors(self.path),
            Session(self._writing, expire_on_commit=False) as session,
            session.begin(),
        ):
            session.connection()  # take the write lock now, so that what the block reads stays true
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A read-only snapshot of the record."""
        with (
            _translated_errors(self.path),
            Session(self._engine, expire_on_commit=False) as session,
        ):
            yield session

    def check_moved(self) -> None:
        """Raise RecordMoved if the path no longer leads to the opened file."""
        if _file_identity(self.path) != self._identity:
            raise RecordMoved(self.path)

    def close(self) -> None:
        self._engine.dispose()


def _file_identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_dev, status.st_ino


def open_record(path: Path, backups: Path) -> Record:
    """Open the record at `path`, or make it.

    An older one is backed up and upgraded. A damaged one is set aside. A damaged or missing one is
    replaced by the newest good backup, if any; `rebuild.refill` adds what happened since. Raises
    NewerRecord.
    """
    if path.is_symlink():
        raise StudioError(
            "{path} is a link. The run database is never written through a link.",
            "Replace the link with the file it points to.",
            path=path,
        )
    with _translated_errors(path), disk_errors_for(path):
        try:
            return _open(path, backups, may_restore=True)
        except Damaged:
            set_aside(path)
        try:
            return _open(path, backups, may_restore=True)
        except Damaged:  # a backup that only seemed to be good
            set_aside(path)
        return _open(path, backups, may_restore=False)


def _open(path: Path, backups: Path, may_restore: bool) -> Record:
    """Open or make the record. Raises Damaged."""
    _roll_back(path)
    version = read_version(path, VERSION)
    aside = restored = None
    if not version:
        restored = newest_intact(backups, VERSION) if may_restore else None
        aside = _newest_aside(path, restored)
    if restored is not None:
        set_aside(path)  # an unfinished file, or a log without its record
        restore(restored, path)
        version = read_version(path, VERSION)
    if version < VERSION:
        _upgrade(path, backups, version)
    record = Record(path)
    try:
        with record.session() as session:
            _test_tables(session)
            _update_home(session, path.parent)
            set_fact(session, "program", program_version())
            for name, file in (("set_aside", aside), ("restored", restored)):
                if file is not None:
                    set_fact(session, name, file.name)
            set_aside_name, restored_name = (
                get_fact(session, "set_aside"),
                get_fact(session, "restored"),
            )
    except BaseException as error:
        record.close()
        if _is_readonly(error) and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
            raise Damaged from error  # the file's header marks it read-only
        raise
    record.set_aside = path.with_name(set_aside_name) if set_aside_name else None
    record.restored = backups / restored_name if restored_name else None
    return record


def _roll_back(path: Path) -> None:
    """Let SQLite roll back an unfinished transaction before the file is checked."""
    if path.exists() and path.with_name(f"{path.name}-journal").exists():
        with closing(sqlite3.connect(path, timeout=10)) as connection, suppress(sqlite3.Error):
            connection.execute("SELECT count(*) FROM sqlite_master")


def _is_readonly(error: BaseException) -> bool:
    cause = getattr(error.__cause__, "orig", None)
    return bool(getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY)


def set_aside(path: Path) -> None:
    """Move a record with its log out of the way, if it exists; nothing of it is lost."""
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    aside, number = path.with_name(f"{path.name}.{ASIDE}{stamp}"), 2
    while aside.exists():
        aside, number = path.with_name(f"{path.name}.{ASIDE}{stamp}-{number}"), number + 1
    for ending in ("-wal", "-shm", ""):
        part = path.with_name(path.name + ending)
        if part.exists():
            os.rename(part, aside.with_name(aside.name + ending))


def _newest_aside(path: Path, backup: Path | None) -> Path | None:
    """The record that was set aside last, unless the backup is newer."""
    endings = ("-wal", "-shm")
    files = [f for f in path.parent.glob(f"{path.name}.{ASIDE}*") if not f.name.endswith(endings)]
    newest = max(files, key=lambda file: file.stat().st_mtime, default=None)
    if newest is None or backup is None or newest.stat().st_mtime >= backup.stat().st_mtime:
        return newest
    return None


def _test_tables(session: Session) -> None:
    """Write a row of each kind and roll back: only this shows whether foreign keys work.

    Raises Damaged.
    """
    trial = "\0trial"
    try:
        with session.begin_nested() as savepoint:
            session.execute(insert(Run).values(**TRIAL, id=trial, name=trial, folder=Path(trial)))
            session.execute(
                insert(Metric).values(run_id=trial, name="loss", step=1, status="finite")
            )
            session.execute(
                insert(Checkpoint).values(folder=Path(trial), run_id=trial, saved=now())
            )
            session.execute(delete(Run).where(Run.id == trial))
            row = session.scalar(select(Metric.step).where(Metric.run_id == trial))
            savepoint.rollback()
    except DBAPIError as error:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or code in ACCESS_ERRORS:
            raise
        raise Damaged from error
    if row is not None:
        raise Damaged


def _upgrade(path: Path, backups: Path, version: int) -> None:
    """Run the missing migrations, each in one transaction, after a backup."""
    from alembic import command  # slow to import and rarely needed
    from alembic.config import Config

    if version:
        back_up(path, backups, "upgrade")
    elif not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    engine = _engine(path, foreign_keys=False)  # recreating a table must not cascade
    try:
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except DBAPIError as error:
        if not version or is_disk_full(error.orig, path):
            raise
        raise StudioError(
            "The run database could not be upgraded: {error}.",
            "It is unchanged, and there is a copy in the folder “backups”.",
            error=error.orig,
        ) from error
    finally:
        engine.dispose()


def _update_home(session: Session, home: Path) -> None:
    """Store the path of the home folder; if it was moved, adjust the paths in the record."""
    before = get_fact(session, "home")
    if before is not None and before != str(home):
        for table in (Run, Checkpoint):
            folder = type_coerce(table.folder, String)
            rest = func.substr(folder, len(before) + 1)
            statement = update(table).where(func.substr(folder, 1, len(before)) == before)
            session.execute(statement.values(folder=type_coerce(str(home) + rest, PathColumn)))
    set_fact(session, "home", str(home))


def _engine(path: Path, foreign_keys: bool = True) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), json_deserializer=from_json)
    journal = "DELETE" if detect_drive(path.parent).kind == "network" else "WAL"

    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        for setting in SETTINGS:
            cursor.execute(setting)
        if not foreign_keys:
            cursor.execute("PRAGMA foreign_keys = OFF")
        cursor.execute(f"PRAGMA journal_mode = {journal}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            _begin_to_write(connection)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _begin_to_write(connection: Connection) -> None:
    """Take the write lock, waiting for other writers.

    SQLite polls only ten times a second, and many writers can starve it beyond its timeout. This
    polls more often, with random pauses.
    """
    direct = connection.connection.dbapi_connection
    assert isinstance(direct, sqlite3.Connection)
    direct.execute("PRAGMA busy_timeout = 0")
    deadline = time.monotonic() + WRITE_TIMEOUT
    try:
        while not direct.in_transaction and time.monotonic() < deadline:
            try:
                direct.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    break
                time.sleep(random.uniform(0.0005, 0.005))
    finally:
        direct.execute(SETTINGS[0])
    if not direct.in_transaction:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # raises the error


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if is_disk_full(cause, path):
            raise DiskFull(
                phrase("The disk is full, so nothing more can be recorded."),
                phrase("Free some space. Everything recorded so far is kept, and runs continue."),
                path.parent,
            ) from error
        if code in ACCESS_ERRORS:
            raise StudioError(
                "The run database cannot be used at the moment: {error}.",
                "Make sure that no other program has it open and that its disk works.",
                error=cause,
            ) from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise StudioError(
                "The run database is damaged.",
                "Start BERT Studio again. It keeps the damaged file and rebuilds the database"
                " from your runs.",
            ) from error
        raise
