"""The runs that were made from something that is to be deleted."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.translation import tr
from engine.config.dataset import StoredData
from engine.config.job import FromScratch, JobSpec
from engine.record.opening import Record
from engine.record.runs import all_runs

MAX_NAMED = 5  # runs that a question names


@dataclass(frozen=True)
class Uses:
    """The names of the runs that were made from it."""

    finished: tuple[str, ...]
    unfinished: tuple[str, ...]

    def sentences(self) -> list[str]:
        """What becomes of these runs."""
        said = []
        if self.finished:
            said.append(tr("%Ln finished run(s) trained from it will be kept.", len(self.finished)))
        if self.unfinished:
            names = ", ".join(f"“{name[:60]}”" for name in self.unfinished[:MAX_NAMED])
            if more := len(self.unfinished) - MAX_NAMED:
                names += tr(" and %Ln more", more) if more > 0 else ""
            said.append(tr("These unfinished runs can no longer be resumed: {0}.").format(names))
        return said


def uses_of(record: Record, reads: Callable[[JobSpec], bool]) -> Uses:
    """The runs whose job reads it. It reads the record; not for the window's thread."""
    finished: list[str] = []
    unfinished: list[str] = []
    with record.read() as session:
        for run in all_runs(session):
            job = run.readable_job()
            if job is not None and reads(job):
                (finished if run.state == "finished" else unfinished).append(run.name)
    return Uses(tuple(finished), tuple(unfinished))


def reads_data(job: JobSpec, folder: Path) -> bool:
    """Whether a job reads the version of a data set in `folder`."""
    return isinstance(job.data, StoredData) and job.data.folder == folder


def reads_model(job: JobSpec, folder: Path) -> bool:
    """Whether a job begins with the model in `folder`, or takes its tokenizer."""
    base = job.base_model
    path = base.tokenizer if isinstance(base, FromScratch) else base.path
    return path is not None and folder in (path, *path.parents)
