"""The record made anew from the folders of the home; what the user said is kept where it can be.

Names, notes, stars and places in the queue come from the record as it was, or, where that one was
damaged, from what can still be read of it and of its backups.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from engine.errors import StudioError
from engine.home import Home
from engine.record.about import forget_fact
from engine.record.backups import all_backups, back_up, read_only
from engine.record.checkpoints import Checkpoint, match_imported
from engine.record.follow import take_in
from engine.record.opening import Record, open_record
from engine.record.runs import Run
from engine.runs.folder import RunFolder


@dataclass(frozen=True)
class Words:
    """What the user said of one run."""

    name: str
    notes: str
    star: bool
    queued: bool


def rebuild(home: Home) -> int:
    """Make the record anew from the folders; return how many runs it has.

    The window may be open meanwhile: it sees the record before or after, nothing between.
    """
    home.make()
    record = open_record(home.record, home.backups)
    try:
        back_up(home.record, home.backups, "rebuild")
        words = _words_from(record.set_aside, home.backups)
        with record.session() as session:
            words |= _words(session)
            for table in (Checkpoint, Run):
                session.execute(delete(table))
            return len(_take_in_all(session, home, words).added)
    finally:
        record.close()


@dataclass(frozen=True)
class Found:
    """Which runs were added, and which folders could not be understood, in whole sentences."""

    added: list[str]
    problems: list[str]


def refill(record: Record, home: Home) -> Found:
    """Add to the record what stands in the home folder and is not in it yet.

    Nothing new is the usual case, and then this is quick. After a damaged record was set aside,
    everything is new, and what the user said is looked for in the damaged one.
    """
    words = _words_from(record.set_aside, home.backups)
    with record.session() as session:
        found = _take_in_all(session, home, words)
    record.set_aside = None
    return found


def _take_in_all(session: Session, home: Home, words: dict[str, Words]) -> Found:
    match_imported(session, home.models)
    known = set(session.scalars(select(Run.id)))
    found = Found([], [])
    for path in sorted(home.runs.iterdir()) if home.runs.is_dir() else ():
        if path.name in known or path.name.startswith(".") or path.is_symlink():
            continue
        folder = RunFolder(path)
        if not folder.spec_file.is_file():
            continue  # being made, or not a run
        try:
            job = folder.job()
        except StudioError as error:
            found.problems.append(str(error))
            continue
        said = words.get(path.name)
        run = take_in(session, folder, job, said is not None and said.queued)
        if said is not None:
            run.name, run.notes, run.star = said.name, said.notes, said.star
        found.added.append(run.id)
    forget_fact(session, "set_aside")
    return found


def _words(session: Session) -> dict[str, Words]:
    said = session.execute(select(Run.id, Run.name, Run.notes, Run.star, Run.state))
    return {i: Words(name, notes, star, state == "queued") for i, name, notes, star, state in said}


def _words_from(damaged: Path | None, backups: Path) -> dict[str, Words]:
    """What the user said, from the backups and, over them, from a damaged record."""
    words: dict[str, Words] = {}
    if damaged is not None:
        for file in (*all_backups(backups), damaged):
            words |= _salvage(file)
    return words


def _salvage(file: Path) -> dict[str, Words]:
    """Row by row, until the damage is met."""
    words: dict[str, Words] = {}
    try:
        with closing(sqlite3.connect(read_only(file), uri=True)) as connection:
            for row in connection.execute("SELECT id, name, notes, star, state FROM runs"):
                match row:
                    case (str(run_id), str(name), str(notes), int(star), str(state)):
                        words[run_id] = Words(name, notes, bool(star), state == "queued")
    except (sqlite3.Error, UnicodeDecodeError):
        return words
    return words
