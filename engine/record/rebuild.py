"""Rebuild the record from the folders of the home, preserving the user's annotations.

Names, notes, stars, tags and queue positions come from the present record or, if that was damaged,
from its readable rows and from its backups.
"""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from engine.errors import StudioError
from engine.files.home import Home
from engine.phrases import phrase
from engine.record.backups import all_backups, back_up
from engine.record.checking import read_only
from engine.record.checkpoints import Checkpoint, match_imported
from engine.record.follow import record_folder
from engine.record.opening import Record, open_record, set_aside
from engine.record.runs import Run, add_unreadable, all_runs, remove_run
from engine.record.tables import delete_fact
from engine.runs.folder import RunFolder
from engine.system.errors import explain_error, may_exist
from engine.visible import is_valid_text

ANNOTATIONS_QUERY = "SELECT id, name, notes, star, state, tags, archived FROM runs"
UNREADABLE = (StudioError, OSError, ValueError, OverflowError)  # errors caused by a bad folder


@dataclass(frozen=True)
class Annotations:
    """The user's annotations of a run; `name` is empty if it is the job's."""

    name: str
    notes: str
    star: bool
    queued: bool
    tags: tuple[str, ...]
    archived: bool


def rebuild(home: Home, sets_aside: bool = False) -> int:
    """Rebuild the record from the folders; return the number of runs.

    `sets_aside`: first move the present record away, even one of a newer program.

    The window may be open meanwhile: it sees the record before or after, nothing between.
    """
    home.make()
    if sets_aside:
        set_aside(home.record)
    record = open_record(home.record, home.backups)
    try:
        back_up(home.record, home.backups, "rebuild")
        annotations = _salvage_annotations(record, home.backups)
        with record.session() as session:
            annotations |= _read_annotations(session)
            for table in (Checkpoint, Run):
                session.execute(delete(table))
            return len(_record_folders(session, home, annotations).added)
    finally:
        record.close()


@dataclass(frozen=True)
class RefillReport:
    """The ids of newly listed runs, and a sentence for each that cannot be read."""

    added: list[str]
    problems: list[str]


def refill(record: Record, home: Home) -> RefillReport:
    """Add to the record what is in the home folder and not in the record yet.

    Fast if nothing is new. After a damaged record was set aside, everything is new, and the user's
    annotations are salvaged from the damaged one.
    """
    annotations = _salvage_annotations(record, home.backups)
    with record.session() as session:
        report = _record_folders(session, home, annotations)
    record.set_aside = record.restored = None
    return report


def _record_folders(
    session: Session, home: Home, annotations: dict[str, Annotations]
) -> RefillReport:
    """Record each folder separately: an unreadable one is listed and does not affect others."""
    match_imported(session, home.models)
    states = {run.id: run.state for run in session.execute(select(Run.id, Run.state))}
    report = RefillReport([], [])
    for path in sorted(home.runs.iterdir()) if home.runs.is_dir() else ():
        before = states.get(path.name)
        if not is_valid_text(path.name):
            report.problems.append(
                phrase(
                    "The folder {folder} in {parent} has a name that is not valid text. Rename it "
                    "to have it listed.",
                    folder=path.name,
                    parent=path.parent.name,
                )
            )
            continue
        folder = RunFolder(path)
        if before not in (None, "unreadable") or not _is_run(folder):
            continue
        run = _record_folder(session, folder, annotations.get(path.name), listed=before is not None)
        if run is None:
            continue
        report.added.append(run.id)
        if run.state == "unreadable":
            report.problems.append(run.problem)
    for run in all_runs(session) if annotations else ():
        _annotate(run, annotations.get(run.id))
    for name in ("set_aside", "restored"):
        delete_fact(session, name)
    return report


def _is_run(folder: RunFolder) -> bool:
    path = folder.path
    if path.name.startswith(".") or path.is_symlink() or not path.is_dir():
        return False  # unfinished, or not a run
    return may_exist(folder.spec_file) or may_exist(folder.events_file)


def _record_folder(
    session: Session, folder: RunFolder, annotations: Annotations | None, listed: bool
) -> Run | None:
    """Record one folder; None if it was `listed` as unreadable and still is."""
    run_id = folder.path.name
    try:
        with session.begin_nested():
            if listed:
                annotations = annotations or _read_annotations(session).get(run_id)
                remove_run(session, run_id)
            run = record_folder(
                session, folder, folder.job(), annotations is not None and annotations.queued
            )
    except UNREADABLE as error:
        if listed:
            return None
        reason = explain_error(error) or StudioError(
            phrase("The run folder {run} cannot be read.", run=run_id),
            phrase("Copy it again from where it came, or delete it."),
            details=f"{type(error).__name__}: {error}",
        )
        run = add_unreadable(session, folder, reason)
    _annotate(run, annotations)
    return run


def _annotate(run: Run, annotations: Annotations | None) -> None:
    if annotations is not None:
        run.name, run.notes, run.star = (
            annotations.name or run.name,
            annotations.notes,
            annotations.star,
        )
        run.tags, run.archived = list(annotations.tags), annotations.archived


def _read_annotations(session: Session) -> dict[str, Annotations]:
    columns = (Run.id, Run.name, Run.notes, Run.star, Run.state, Run.tags, Run.archived)
    return {row[0]: _parse_annotations(*row) for row in session.execute(select(*columns))}


def _parse_annotations(
    run_id: str, name: str, notes: str, star: bool, state: str, tags: Sequence[str], archived: bool
) -> Annotations:
    user_name = name if state != "unreadable" or name != run_id else ""  # else the folder's name
    return Annotations(user_name, notes, star, state == "queued", tuple(tags), archived)


def _salvage_annotations(record: Record, backups: Path) -> dict[str, Annotations]:
    """Annotations from the backups and, taking precedence, from a damaged record."""
    annotations: dict[str, Annotations] = {}
    if record.set_aside is not None or record.restored is not None:
        aside = () if record.set_aside is None else (record.set_aside,)
        for file in (*all_backups(backups), *aside):
            annotations |= _salvage(file)
    return annotations


def _salvage(file: Path) -> dict[str, Annotations]:
    annotations: dict[str, Annotations] = {}
    try:
        with closing(sqlite3.connect(read_only(file), uri=True)) as connection:
            for row in connection.execute(ANNOTATIONS_QUERY):
                match row:
                    case (
                        str(run_id),
                        str(name),
                        str(notes),
                        int(star),
                        str(state),
                        tags,
                        archived,
                    ):
                        fields = (run_id, name, notes, bool(star), state)
                        annotations[run_id] = _parse_annotations(
                            *fields, _tags(tags), bool(archived)
                        )
    except (sqlite3.Error, UnicodeDecodeError):
        return annotations
    return annotations


def _tags(text: object) -> list[str]:
    try:
        tags = json.loads(text) if isinstance(text, str) else []
    except ValueError:
        return []
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
