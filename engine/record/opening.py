"""Open the record, bring it to the present version, and give sessions on it.

One process writes (the window), and others may read or write beside it for a moment: there is a
write-ahead log, a writer takes the write lock at the start of its transaction, and everyone waits
for the others.
"""

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sqlalchemy import (
    Connection,
    Engine,
    String,
    create_engine,
    event,
    func,
    literal_column,
    select,
    type_coerce,
    update,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from engine.atomic_write import disk_errors_for
from engine.errors import DiskFull, StudioError
from engine.phrases import phrase
from engine.record.about import About, fact, set_fact
from engine.record.backups import back_up, quick_check, read_only
from engine.record.checkpoints import Checkpoint
from engine.record.metrics import Metric
from engine.record.runs import Run
from engine.record.tables import Place

VERSION = 1  # of the tables: the number of the last migration
MIGRATIONS = Path(__file__).with_name("migrations")
SETTINGS = (
    "PRAGMA busy_timeout = 10000",  # ms
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA journal_size_limit = 67108864",  # bytes
)
WRITE_TIMEOUT = 30.0  # s that a writer waits for the others
NOT_THE_FILE = {  # what SQLite reports where the file itself may be in order
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
}


class NewerRecord(StudioError):
    """A newer program made the record; this one leaves it alone."""

    def __init__(self, path: Path, program: str) -> None:
        made_by = phrase("a newer BERT Studio")
        if program:
            made_by = phrase("a newer BERT Studio ({version})", version=program)
        super().__init__(
            phrase(
                "The run database {name} was made by {made_by}, so it was left unchanged.",
                name=path.name,
                made_by=made_by,
            ),
            phrase("Install that version again. This one is {version}.", version=program_version()),
        )


class Record:
    """The open record.

    `set_aside` is where a damaged one went, as long as its runs are not in the present one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set_aside: Path | None = None
        self._engine = _engine(path)
        self._writing = self._engine.execution_options(writes=True)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One transaction that may write: all of the block, or nothing of it."""
        with (
            _in_plain_language(),
            Session(self._writing, expire_on_commit=False) as session,
            session.begin(),
        ):
            session.connection()  # take the write lock now: what the block reads stays true
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One view of the record that does not move while the block reads."""
        with _in_plain_language(), Session(self._engine, expire_on_commit=False) as session:
            yield session

    def close(self) -> None:
        self._engine.dispose()


def open_record(path: Path, backups: Path) -> Record:
    """Open the record at `path`, or make it.

    An older one is backed up and upgraded. A damaged one is set aside, and the new one in its place
    is empty until `rebuild.refill` has filled it. Raises NewerRecord.
    """
    if path.is_symlink():
        raise StudioError(
            phrase(
                "{path} is a link. The run database is never written through a link.", path=path
            ),
            phrase("Replace the link with the file it points to."),
        )
    set_aside = None
    try:
        found = _version(path)
    except _Damaged:
        set_aside = _set_aside(path)
        found = 0
    with disk_errors_for(path):
        if found < VERSION:
            _upgrade(path, backups, found)
    record = Record(path)
    with record.session() as session:
        _settle_home(session, path.parent)
        set_fact(session, "program", program_version())
        if set_aside is not None:
            set_fact(session, "set_aside", set_aside.name)
        waiting = fact(session, "set_aside")  # also one of an earlier start that was cut short
    record.set_aside = path.with_name(waiting) if waiting else None
    return record


def program_version() -> str:
    """The version of this program, as it is installed."""
    try:
        return version("bert-studio")
    except PackageNotFoundError:
        return "a checkout"


class _Damaged(Exception):
    """The file is not a record, or not one any more."""


def _version(path: Path) -> int:
    """The version of the tables in the file, 0 where there is none. Changes nothing on the disk.

    Raises NewerRecord, or _Damaged.
    """
    log = path.with_name(path.name + "-wal")
    if not path.exists() or (path.stat().st_size == 0 and not log.exists()):
        return 0
    try:
        with closing(sqlite3.connect(read_only(path), uri=True, timeout=10)) as connection:
            found = _version_of(connection)
            if found > VERSION:
                raise NewerRecord(path, _program_of(connection))
            if not quick_check(connection):
                raise _Damaged
            if found == VERSION:
                _ask_for_columns(connection)
            return found
    except UnicodeDecodeError as error:  # in what SQLite says of the damage
        raise _Damaged from error
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in NOT_THE_FILE:
            raise StudioError(
                phrase("The run database {path} cannot be read: {error}.", path=path, error=error),
                phrase("Check the disk and the permissions of this file, then start again."),
            ) from error
        raise _Damaged from error


def _version_of(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    if len(rows) != 1:
        raise _Damaged
    revision = str(rows[0][0])
    return max(int(number), int(revision) if revision.isdecimal() else VERSION + 1)


def _ask_for_columns(connection: sqlite3.Connection) -> None:
    """An error where a table is not what it was made as: a quick check passes over names."""
    for table in (About, Run, Metric, Checkpoint):
        connection.execute(str(select(table).limit(literal_column("0"))))


def _program_of(connection: sqlite3.Connection) -> str:
    try:
        rows = connection.execute("SELECT value FROM about WHERE key = 'program'").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        return ""  # a newer one may keep this elsewhere
    return str(rows[0][0])[:40] if rows else ""


def _set_aside(path: Path) -> Path:
    """Move a damaged file with its log out of the way; nothing of it is lost."""
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    aside, number = path.with_name(f"{path.name}.corrupt-{stamp}"), 2
    while aside.exists():
        aside, number = path.with_name(f"{path.name}.corrupt-{stamp}-{number}"), number + 1
    for ending in ("-wal", "-shm", ""):
        part = path.with_name(path.name + ending)
        if part.exists():
            os.rename(part, aside.with_name(aside.name + ending))
    return aside


def _upgrade(path: Path, backups: Path, found: int) -> None:
    """Run the migrations that are missing, each in one transaction, after a backup."""
    from alembic import command  # late: takes a third of a second, and is rarely needed
    from alembic.config import Config

    if found:
        back_up(path, backups, "upgrade")
    elif not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    engine = _engine(path, foreign_keys=False)  # a table that is made anew must not drop its rows
    try:
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except DBAPIError as error:
        raise StudioError(
            phrase("The run database could not be upgraded: {error}.", error=error.orig),
            phrase("It is unchanged, and there is a copy in the folder “backups”."),
        ) from error
    finally:
        engine.dispose()


def _settle_home(session: Session, home: Path) -> None:
    """Note where the home folder stands; where it was moved, move the places in the record too."""
    before = fact(session, "home")
    if before is not None and before != str(home):
        for table in (Run, Checkpoint):
            folder = type_coerce(table.folder, String)
            rest = func.substr(folder, len(before) + 1)
            moved = update(table).where(func.substr(folder, 1, len(before)) == before)
            session.execute(moved.values(folder=type_coerce(str(home) + rest, Place)))
    set_fact(session, "home", str(home))


def _engine(path: Path, foreign_keys: bool = True) -> Engine:
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def settle(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        for setting in SETTINGS:
            cursor.execute(setting)
        if not foreign_keys:
            cursor.execute("PRAGMA foreign_keys = OFF")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            _begin_to_write(connection)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _begin_to_write(connection: Connection) -> None:
    """Take the write lock, waiting for it where others have it.

    SQLite's own waiting looks ten times a second at the end, and a busy crowd can keep it out for
    longer than it waits. This one looks more often, and never in step with the others.
    """
    direct = connection.connection.dbapi_connection
    assert isinstance(direct, sqlite3.Connection)
    direct.execute("PRAGMA busy_timeout = 0")
    end = time.monotonic() + WRITE_TIMEOUT
    try:
        while not direct.in_transaction and time.monotonic() < end:
            try:
                direct.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    break
                time.sleep(random.uniform(0.0005, 0.005))
    finally:
        direct.execute(SETTINGS[0])
    if not direct.in_transaction:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # once more, for its error


@contextmanager
def _in_plain_language() -> Iterator[None]:
    """What a full or failing disk does to the record, in sentences that the user understands."""
    try:
        yield
    except DBAPIError as error:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise DiskFull(
                phrase("The disk is full, so nothing more can be recorded."),
                phrase(
                    "Free some space. Everything recorded so far is kept, and runs continue by"
                    " themselves."
                ),
            ) from error
        if code in NOT_THE_FILE:
            raise StudioError(
                phrase("The run database cannot be used at the moment: {error}.", error=error.orig),
                phrase("Make sure that no other program has it open and that its disk works."),
            ) from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise StudioError(
                phrase("The run database is damaged."),
                phrase(
                    "Start BERT Studio again. It keeps the damaged file and rebuilds the database"
                    " from your runs."
                ),
            ) from error
        raise
