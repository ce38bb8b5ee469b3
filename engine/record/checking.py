"""Check a record file before it is used: its version, its structure, every row.

Nothing here changes the file or leaves other files next to it.
"""

import shutil
import sqlite3
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

from sqlalchemy import Boolean, Float, Integer, create_engine, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool
from sqlalchemy.types import TypeEngine

from engine.errors import StudioError
from engine.phrases import phrase
from engine.record.checkpoints import Checkpoint
from engine.record.metrics import Metric
from engine.record.runs import Run, State
from engine.record.tables import About

MAX_VERSIONS_AHEAD = 1000  # a version farther ahead means damage
MIGRATION_TABLES = {"alembic_version"}  # made before the first table
ACCESS_ERRORS = {  # SQLite errors that say nothing about the file itself
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
}
MIN_FREE_BYTES = 1_000_000  # with less free space, a disk counts as full


class Damaged(Exception):
    """The file is not a record, or is damaged."""


class NewerRecord(StudioError):
    """A newer program made the record, so it is left unchanged."""

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
            phrase(
                "Install that version again; this one is {version}. Or set the database aside, and"
                " a new one is made from the folders of your runs: bert-studio rebuild --set-aside",
                version=program_version(),
            ),
        )


def program_version() -> str:
    try:
        return version("bert-studio")
    except PackageNotFoundError:
        return "a checkout"


def read_version(path: Path, current: int) -> int:
    """Version of the tables in the file; 0 if there are none, or they were never finished.

    `current` is the version of this program. Raises NewerRecord, Damaged, or StudioError if the
    file may be in order but cannot be read.
    """
    log = path.with_name(path.name + "-wal")
    if not path.exists() or (path.stat().st_size == 0 and not log.exists()):
        return 0
    try:
        with closing(sqlite3.connect(read_only(path), uri=True, timeout=10)) as connection:
            return _check_version(connection, path, current)
    except (UnicodeDecodeError, OverflowError) as error:  # raised while SQLite describes the damage
        raise Damaged from error
    except sqlite3.Error as error:
        if is_disk_full(error, path):
            raise
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in ACCESS_ERRORS:
            raise StudioError(
                "The run database {path} cannot be read: {error}.",
                "Check the disk and the permissions of this file, then start again.",
                path=path,
                error=error,
            ) from error
        raise Damaged from error


def _check_version(connection: sqlite3.Connection, path: Path, current: int) -> int:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables - MIGRATION_TABLES and is_sound(connection):
        return 0
    version = _read_number(connection)
    if version > current + MAX_VERSIONS_AHEAD:
        raise Damaged
    if version > current:
        raise NewerRecord(path, _read_program(connection))
    if not is_sound(connection):
        raise Damaged
    if version == current:
        _read_every_row(connection)
    return version


def _read_number(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    if len(rows) != 1 or not str(rows[0][0]).isdecimal():
        raise Damaged
    return max(int(number), int(rows[0][0]))


def is_sound(connection: sqlite3.Connection) -> bool:
    """Check pages, indexes, constraints and foreign keys."""
    pages = connection.execute("PRAGMA integrity_check(1)").fetchall()
    broken_keys = connection.execute("PRAGMA foreign_key_check").fetchmany(1)
    return pages == [("ok",)] and not broken_keys


def read_only(file: Path) -> str:
    """URI by which SQLite reads a record without creating any file.

    Without a write-ahead log no process has the record open, so it cannot change meanwhile.
    """
    log = file.with_name(file.name + "-wal")
    return f"{file.as_uri()}?{'mode=ro' if log.exists() else 'immutable=1'}"


def _read_every_row(connection: sqlite3.Connection) -> None:
    """Read every row: SQLite's own check covers neither column names nor contents."""
    for table in (About, Run, Checkpoint, Metric):
        columns = table.__table__.columns
        mismatch = " OR ".join(_has_wrong_type(c.name, c.type, bool(c.nullable)) for c in columns)
        sql = f"SELECT count(*) FROM {table.__tablename__} WHERE {mismatch}"  # noqa: S608 (our names)
        if connection.execute(sql).fetchone() != (0,):
            raise Damaged
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    try:
        with Session(engine) as session:
            for table in (About, Checkpoint):
                session.scalars(select(table)).all()
            for run in session.scalars(select(Run)):
                if run.state not in get_args(State) or not Path(run.folder).is_absolute():
                    raise Damaged
                run.requested_device(), run.requested_processes()
    except (SQLAlchemyError, ValueError, TypeError, AttributeError) as error:
        raise Damaged from error


def _has_wrong_type(name: str, kind: TypeEngine[Any], nullable: bool) -> str:
    """SQL condition: a cell has another storage class than its column."""
    allowed = {"null"} if nullable else set[str]()
    if isinstance(kind, Integer | Boolean):
        allowed |= {"integer"}
    elif isinstance(kind, Float):
        allowed |= {"real", "integer"}
    else:  # stored as text
        allowed |= {"text"}
    return f"typeof({name}) NOT IN ({', '.join(map(repr, sorted(allowed)))})"


def is_disk_full(error: BaseException | None, path: Path) -> bool:
    """True if the disk is full, which SQLite may report as a read-only or unopenable file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    is_tight = shutil.disk_usage(path.parent).free < MIN_FREE_BYTES
    return code == sqlite3.SQLITE_FULL or (code in ACCESS_ERRORS and is_tight)


def _read_program(connection: sqlite3.Connection) -> str:
    try:
        rows = connection.execute("SELECT value FROM about WHERE key = 'program'").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        return ""  # a newer version may store this elsewhere
    return str(rows[0][0])[:40] if rows else ""
