"""Runs that depend on something about to be deleted."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.translation import tr
from engine.config.dataset import StoredData
from engine.config.job import FromScratch, JobSpec
from engine.record.opening import Record
from engine.record.runs import all_runs

MAX_NAMED = 5  # runs named in a question


@dataclass(frozen=True)
class Uses:
    """Names of dependent runs."""

    finished: tuple[str, ...]
    unfinished: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Consequences for these runs."""
        lines = []
        if self.finished:
            lines.append(
                tr("%Ln finished run(s) trained from it will be kept.", len(self.finished))
            )
        if self.unfinished:
            names = ", ".join(f"“{name[:60]}”" for name in self.unfinished[:MAX_NAMED])
            if more := len(self.unfinished) - MAX_NAMED:
                names += tr(" and %Ln more", more) if more > 0 else ""
            lines.append(tr("These unfinished runs can no longer be resumed: {0}.").format(names))
        return lines


def read_uses(record: Record, predicate: Callable[[JobSpec], bool]) -> Uses:
    """Find runs by their jobs. Queries the record: call it outside the GUI thread."""
    finished: list[str] = []
    unfinished: list[str] = []
    with record.read() as session:
        for run in all_runs(session):
            job = run.readable_job()
            if job is not None and predicate(job):
                (finished if run.state == "finished" else unfinished).append(run.name)
    return Uses(tuple(finished), tuple(unfinished))


def reads_data(job: JobSpec, folder: Path) -> bool:
    """Return True if a job reads the data set version in `folder`."""
    return isinstance(job.data, StoredData) and job.data.folder == folder


def reads_model(job: JobSpec, folder: Path) -> bool:
    """Return True if a job starts from the model in `folder` or uses its tokenizer."""
    base = job.base_model
    path = base.tokenizer if isinstance(base, FromScratch) else base.path
    return path is not None and folder in (path, *path.parents)
