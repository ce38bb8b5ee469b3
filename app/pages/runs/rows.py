"""Frozen copies of the runs in the record, read off the GUI thread."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from app.pages.runs.job_fields import JobFields
from app.running import RunProgress
from app.translation import tr
from app.widgets.text import numbers
from engine.config.dataset import DataSource, StoredData
from engine.config.job import BaseModelSource, FromScratch, JobSpec
from engine.files.home import newest_version
from engine.files.shipped import included_name
from engine.messages.events import Branched
from engine.record.checkpoints import best_and_last, get_checkpoints
from engine.record.metrics import When, get_values_by_run, sparkline
from engine.record.opening import Record
from engine.record.runs import RESUMABLE, WAITING, Run, all_runs, find_run
from engine.runs.folder import checkpoint_step

MAX_SPARK_POINTS = 60  # of a sparkline
DATA: TypeAdapter[DataSource] = TypeAdapter(DataSource)
BASE_MODEL: TypeAdapter[BaseModelSource] = TypeAdapter(BaseModelSource)


@dataclass(frozen=True)
class Measure:
    """One number for each run: a metric by its event name, and a point on its curve."""

    name: str
    when: When

    @property
    def key(self) -> str:
        return f"{self.name}@{self.when}"


@dataclass(frozen=True, kw_only=True)
class RunRow(RunProgress):
    """A run. `measured` has the requested metrics, by column key."""

    id: str
    name: str
    notes: str
    star: bool
    priority: int  # in the queue, the highest first
    tags: tuple[str, ...]
    archived: bool
    task: str
    job_text: str
    group: str  # id of a job with several runs; “” for a single run
    setting: int  # index of its combination in its search; -1: none
    sweep: str  # features that a run of a layer sweep reads; “” for other runs
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
    higher_is_better: bool  # for that metric
    best_score: float | None
    best_step: int
    loss: float | None  # the last one
    problem: str
    advice: str
    details: str
    bug: bool
    remarks: tuple[str, ...]
    checkpoint: Path | None  # the best, otherwise the last one
    checkpoint_step: int  # of the last one, to resume from; 0: none
    measured: dict[str, float] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def job(self) -> JobSpec | None:
        """The job; None if it was written by an incompatible version."""
        try:
            return JobSpec.model_validate_json(self.job_text)
        except ValidationError:
            return None

    @cached_property
    def fields(self) -> JobFields:
        """The settings of the job by path, for jobs of any version."""
        return JobFields(from_json(self.job_text))

    @property
    def is_active(self) -> bool:
        return self.is_waiting or self.is_working

    @property
    def is_waiting(self) -> bool:
        """True if it is in the queue."""
        return self.state in WAITING

    @property
    def can_resume(self) -> bool:
        return self.state in RESUMABLE

    def newer_data(self) -> Path | None:
        """The newest version of its data set, if newer than the one it was trained on.

        Reads the folder of the data set.
        """
        data = self.job.data if self.job is not None else None
        if not isinstance(data, StoredData) or not data.folder.name.isdecimal():
            return None
        newest = newest_version(data.folder.parent)
        return data.folder.parent / str(newest) if newest > int(data.folder.name) else None

    @property
    def origin(self) -> str:
        """The run and step that a branch started from, and its changes; “” for other runs."""
        return next((item for item in self.remarks if item.startswith(Branched.BEGINNING)), "")


CONVERTED = {"tags", "versions", "remarks"}  # attributes converted from the record
COPIED = tuple(  # attributes copied from the record
    attribute.name
    for attribute in fields(RunRow)
    if attribute.name in Run.__table__.columns
    and attribute.name not in {*CONVERTED, *RunProgress.__annotations__}
)


def queue_key(row: RunRow) -> tuple[int, float, str]:
    """Sort key of waiting runs: the next one first."""
    return -row.priority, row.created.timestamp(), row.id


def read_rows(record: Record) -> list[RunRow]:
    """All runs, newest first."""
    with record.read() as session:
        saved = best_and_last(session)
        return [_row(run, saved.get(run.id)) for run in all_runs(session)]


def read_row(record: Record, run_id: str, metrics: Iterable[Measure] = ()) -> RunRow | None:
    """A run with these metrics; None if it was removed."""
    with record.read() as session:
        run = find_run(session, run_id)
        if run is None:
            return None
        saved = get_checkpoints(session, run.id)
        best = next((c for c in saved if c.best), saved[-1] if saved else None)
        row = _row(run, (best.folder, saved[-1].step) if best is not None else None)
        for metric in metrics:
            row.measured.update(
                (metric.key, value)
                for value in get_values_by_run(session, metric.name, metric.when, [run_id]).values()
            )
        return row


def read_measures(record: Record, measure: Measure) -> dict[str, float]:
    """Values of this metric by run id, for runs that have it."""
    with record.read() as session:
        return get_values_by_run(session, measure.name, measure.when)


def read_sparks(record: Record, run_ids: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Downsampled training loss of these runs."""
    with record.read() as session:
        return {run: tuple(sparkline(session, run, "loss", MAX_SPARK_POINTS)) for run in run_ids}


def _row(run: Run, saved: tuple[Path, int] | None) -> RunRow:
    """`saved` is the best checkpoint and the step of the last one; None without checkpoints."""
    job = from_json(run.job)
    group = job.get("group") or {}
    checkpoint, checkpoint_step = saved if saved is not None else (None, 0)
    values = vars(run)  # ten times as fast as ORM attributes
    return RunRow(
        **vars(RunProgress.from_record(run)),
        **{name: values[name] for name in COPIED},
        tags=tuple(run.tags),
        job_text=run.job,
        group=group.get("id", ""),
        setting=group.get("setting", 0) if group.get("search") else -1,
        sweep=(job.get("features") or {}).get("vectors", "") if group.get("vectors") else "",
        data=_data_name(to_json(job.get("data"))),
        base_model=_base_model_name(to_json(job.get("base_model"))),
        versions=tuple(run.versions.items()),
        remarks=tuple(run.remarks),
        checkpoint=checkpoint,
        checkpoint_step=checkpoint_step,
    )


@lru_cache(4096)
def _data_name(source: bytes) -> str:
    """The name of a data source given as JSON; “” if an incompatible version wrote it."""
    try:
        return DATA.validate_json(source).name
    except ValidationError:
        return ""


@lru_cache(4096)
def _base_model_name(source: bytes) -> str:
    try:
        return base_model_name(BASE_MODEL.validate_json(source))
    except ValidationError:
        return ""


def base_model_name(base_model: BaseModelSource) -> str:
    """Name of the base model, or the size if from scratch."""
    if isinstance(base_model, FromScratch):
        template = tr("From scratch ({0} layers × {1})")
        return template.format(base_model.model.layers, base_model.model.hidden_size)
    return included_name(base_model.path) or checkpoint_name(base_model.path)


def checkpoint_name(path: Path) -> str:
    """Run and step of a run's checkpoint; otherwise the name of the folder."""
    if path.parent.name == "checkpoints" and path.name.startswith("step-"):
        step = numbers.count(checkpoint_step(path))
        return tr("{0}, step {1}").format(path.parent.parent.name, step)
    return path.name
