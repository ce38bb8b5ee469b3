"""Runs: the job, progress, outcome, and the user's annotations."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from pydantic import ValidationError
from pydantic_core import from_json
from sqlalchemy import JSON, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from engine.config.job import RUN_NAME_LENGTH, JobSpec
from engine.errors import StudioError
from engine.record.tables import Moment, PathColumn, Sentence, Sentences, Table
from engine.runs.folder import RunFolder, modified_at

State = Literal[
    "queued",
    "on hold",
    "starting",
    "running",
    "paused",
    "not responding",
    "stopping",
    "stopped",
    "finished",
    "failed",
    "crashed",
    "unreadable",
]
WORKING: tuple[State, ...] = (*("starting", "running", "paused", "not responding", "stopping"),)
WAITING: tuple[State, ...] = ("queued", "on hold")  # in the queue
RESUMABLE: tuple[State, ...] = ("stopped", "failed", "crashed")
MAX_REMARKS = 200  # of one run
MAX_TAGS, MAX_TAG_CHARACTERS = 50, 60  # per run


class Run(Table):
    """One execution of a job. Its id is the name of its folder.

    `name`, `notes`, `star`, `tags`, `archived` and `priority` belong to the user; all else comes
    from the folder.
    """

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    notes: Mapped[str] = mapped_column(default="")
    star: Mapped[bool] = mapped_column(default=False)
    tags: Mapped[list[str]] = mapped_column(JSON, default=list)
    archived: Mapped[bool] = mapped_column(default=False)  # hidden by default
    priority: Mapped[int] = mapped_column(default=0)  # in the queue, the highest first

    task: Mapped[str]
    job: Mapped[str]  # the JobSpec as JSON
    folder: Mapped[Path] = mapped_column(PathColumn)
    state: Mapped[str] = mapped_column(index=True)
    created: Mapped[datetime] = mapped_column(Moment)
    launched: Mapped[datetime | None] = mapped_column(Moment)  # the last time
    started: Mapped[datetime | None] = mapped_column(Moment)  # the first time
    ended: Mapped[datetime | None] = mapped_column(Moment)
    heard: Mapped[datetime | None] = mapped_column(Moment)  # time of the last event
    seconds: Mapped[float] = mapped_column(default=0.0)  # spent by all its workers together

    step: Mapped[int] = mapped_column(default=0)
    steps: Mapped[int] = mapped_column(default=0)  # 0: not known yet
    # the first step measured by the present worker
    paced_step: Mapped[int] = mapped_column(default=0)
    paced_from: Mapped[datetime | None] = mapped_column(Moment)  # … and its time
    # name of the work other than training; empty: none
    stage: Mapped[str] = mapped_column(Sentence, default="")
    stage_done: Mapped[int] = mapped_column(default=0)
    stage_total: Mapped[int] = mapped_column(default=0)  # 0: not known
    examples: Mapped[int] = mapped_column(default=0)
    parameters: Mapped[int] = mapped_column(default=0)
    device: Mapped[str] = mapped_column(default="")  # empty: not known yet
    threads: Mapped[int] = mapped_column(default=0)
    versions: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)

    loss: Mapped[float | None]  # the last one; NULL if not finite
    best_metric: Mapped[str] = mapped_column(default="")  # empty: not known yet
    higher_is_better: Mapped[bool] = mapped_column(default=True)
    best_score: Mapped[float | None]
    best_step: Mapped[int] = mapped_column(default=0)

    problem: Mapped[str] = mapped_column(Sentence, default="")
    advice: Mapped[str] = mapped_column(Sentence, default="")
    details: Mapped[str] = mapped_column(default="")
    bug: Mapped[bool] = mapped_column(default=False)
    remarks: Mapped[list[str]] = mapped_column(Sentences, default=list)  # what the worker noted
    bytes_read: Mapped[int] = mapped_column(default=0)  # of its events

    def parse_job(self) -> JobSpec:
        """Parse the job. Raises ValidationError if another version made it."""
        return JobSpec.model_validate_json(self.job)

    def readable_job(self) -> JobSpec | None:
        """Parse the job; None if another version made it."""
        try:
            return self.parse_job()
        except ValidationError:
            return None

    def requested_device(self) -> str:
        """The requested device, also for a job of another version; “auto” by default."""
        return str(self._hardware().get("device", "auto"))

    def requested_processes(self) -> int:
        """The requested number of processes, also for a job of another version."""
        return int(self._hardware().get("processes", 1))

    def _hardware(self) -> dict[str, Any]:
        hardware: dict[str, Any] = from_json(self.job).get("hardware", {})
        return hardware

    def data_name(self) -> str:
        """The name of its data; empty if another version made the job."""
        try:
            return self.parse_job().data.name
        except ValidationError:
            return ""

    def run_folder(self) -> RunFolder:
        return RunFolder(self.folder)

    def seconds_left(self) -> float | None:
        """Remaining time at the speed of the present worker; None if unknown or not running."""
        if self.state != "running":
            return None
        if self.paced_from is None or self.heard is None or self.step <= self.paced_step:
            return None
        pace = (self.heard - self.paced_from).total_seconds() / (self.step - self.paced_step)
        return max(0.0, pace * (self.steps - self.step)) if self.steps else None


def add_run(session: Session, folder: RunFolder, job: JobSpec, state: State) -> Run:
    """Record the run in `folder`, before its events are read."""
    run = Run(
        id=folder.path.name,
        name=job.name,
        task=job.task.kind,
        job=job.model_dump_json(),
        folder=folder.path,
        state=state,
        created=folder.created(),
    )
    session.add(run)
    session.flush()
    return run


def add_unreadable(session: Session, folder: RunFolder, why: StudioError) -> Run:
    run = Run(
        id=folder.path.name,
        name=folder.path.name,
        task="",
        job="{}",
        folder=folder.path,
        state="unreadable",
        created=modified_at(folder.path),
        problem=why.problem,
        advice=why.advice,
        details=why.details,
    )
    session.add(run)
    session.flush()
    return run


def all_runs(session: Session) -> Sequence[Run]:
    return session.scalars(select(Run).order_by(Run.created.desc(), Run.id.desc())).all()


def find_run(session: Session, run_id: str) -> Run | None:
    return session.get(Run, run_id)


def runs_in(session: Session, states: Sequence[State]) -> Sequence[Run]:
    """The runs in these states, by priority and then by creation."""
    order = (Run.priority.desc(), Run.created, Run.id)
    return session.scalars(select(Run).where(Run.state.in_(states)).order_by(*order)).all()


def remove_run(session: Session, run_id: str) -> None:
    """Delete the rows of a run with its curves and checkpoints; its folder stays."""
    session.execute(delete(Run).where(Run.id == run_id))


def run_ids(session: Session) -> set[str]:
    return set(session.scalars(select(Run.id)))


def run_names(session: Session) -> set[str]:
    return set(session.scalars(select(Run.name)))


def runs_named(session: Session, name: str) -> Sequence[Run]:
    return session.scalars(select(Run).where(Run.name == name)).all()


class Annotations(TypedDict, total=False):
    """User annotations of a run."""

    name: str
    notes: str
    star: bool
    tags: Sequence[str]
    archived: bool


def annotate(session: Session, run_id: str, **annotations: Unpack[Annotations]) -> None:
    """Replace annotations of a run; duplicates and surrounding blanks of tags are removed."""
    if (row := find_run(session, run_id)) is None:
        return
    if "tags" in annotations:
        stripped = (tag.strip()[:MAX_TAG_CHARACTERS] for tag in annotations["tags"])
        annotations["tags"] = list(dict.fromkeys(tag for tag in stripped if tag))[:MAX_TAGS]
    for field, value in annotations.items():
        setattr(row, field, value)


def export_annotations(row: Run) -> Annotations:
    """The user's annotations of a run, as JSON to take to another home."""
    return {"name": row.name, "notes": row.notes, "star": row.star, "tags": list(row.tags)}


def apply_annotations(session: Session, run_id: str, annotations: Mapping[str, Any]) -> None:
    """Apply annotations from another home; malformed values are ignored."""
    name, notes, tags = annotations.get("name"), annotations.get("notes"), annotations.get("tags")
    if isinstance(name, str) and name.strip():
        annotate(session, run_id, name=name.strip()[:RUN_NAME_LENGTH])
    listed = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    text = notes if isinstance(notes, str) else ""
    annotate(session, run_id, notes=text, star=annotations.get("star") is True, tags=listed)
