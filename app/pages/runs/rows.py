"""What the pages know of a run: a frozen copy of its row in the record.

Reading runs off the window's thread.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy.orm import Session

from app.pages.runs import texts
from app.running import RunNow
from engine.home import newest_version
from engine.messages.events import Branched
from engine.record.checkpoints import checkpoints_of
from engine.record.metrics import sparkline
from engine.record.opening import Record
from engine.record.runs import RESUMABLE, WAITING, Run, all_runs
from engine.record.runs import run as find
from engine.spec.dataset import StoredData
from engine.spec.job import JobSpec

SPARKS = 60  # points of a sparkline


@dataclass(frozen=True, kw_only=True)
class RunRow(RunNow):
    """One run. `job` is None where another version wrote a job that this one cannot read."""

    id: str
    name: str
    notes: str
    star: bool
    task: str
    job: JobSpec | None
    job_text: str
    data: str
    base_model: str
    folder: Path
    created: datetime
    started: datetime | None
    ended: datetime | None
    seconds: float
    examples: int
    parameters: int
    device: str
    threads: int
    versions: tuple[tuple[str, str], ...]
    best_metric: str
    higher_is_better: bool  # of that metric
    best_score: float | None
    best_step: int
    problem: str
    advice: str
    details: str
    bug: bool
    remarks: tuple[str, ...]
    checkpoint: Path | None  # the best one, or else the last
    checkpoint_step: int  # the last one, from which it would be resumed; 0 for none
    losses: tuple[float, ...]

    @property
    def is_active(self) -> bool:
        return self.is_waiting or self.is_working

    @property
    def is_waiting(self) -> bool:
        """Whether it is in the queue."""
        return self.state in WAITING

    @property
    def can_resume(self) -> bool:
        return self.state in RESUMABLE

    def newer_data(self) -> Path | None:
        """The newest version of the stored data set it was trained on, where that is a newer one.

        Looks into the folder of the data set.
        """
        data = self.job.data if self.job is not None else None
        if not isinstance(data, StoredData) or not data.folder.name.isdecimal():
            return None
        newest = newest_version(data.folder.parent)
        return data.folder.parent / str(newest) if newest > int(data.folder.name) else None

    @property
    def branched(self) -> str:
        """Of which run it is a branch, from which step on and with what; empty where of none."""
        return next((one for one in self.remarks if one.startswith(Branched.BEGINNING)), "")


def read_rows(record: Record) -> list[RunRow]:
    """All runs, the newest first."""
    with record.read() as session:
        return [_row(session, run) for run in all_runs(session)]


def read_row(record: Record, run_id: str) -> RunRow | None:
    """One run; None where it was removed."""
    with record.read() as session:
        run = find(session, run_id)
        return None if run is None else _row(session, run)


def _row(session: Session, run: Run) -> RunRow:
    job = run.readable_job()
    saved = checkpoints_of(session, run.id)
    best = next((c for c in saved if c.best), saved[-1] if saved else None)
    return RunRow(
        **vars(RunNow.of(run)),
        id=run.id,
        name=run.name,
        notes=run.notes,
        star=run.star,
        task=run.task,
        job=job,
        job_text=run.job,
        data=job.data.name if job else "",
        base_model=texts.base_model_name(job.base_model) if job else "",
        folder=run.folder,
        created=run.created,
        started=run.started,
        ended=run.ended,
        seconds=run.seconds,
        examples=run.examples,
        parameters=run.parameters,
        device=run.device,
        threads=run.threads,
        versions=tuple(run.versions.items()),
        best_metric=run.best_metric,
        higher_is_better=run.higher_is_better,
        best_score=run.best_score,
        best_step=run.best_step,
        problem=run.problem,
        advice=run.advice,
        details=run.details,
        bug=run.bug,
        remarks=tuple(run.remarks),
        checkpoint=best.folder if best else None,
        checkpoint_step=saved[-1].step if saved else 0,
        losses=tuple(sparkline(session, run.id, "loss", SPARKS)),
    )
