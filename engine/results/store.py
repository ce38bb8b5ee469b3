"""Files of predictions, and the log of test evaluations.

A results folder belongs to a run (its `results`) or to a model of the home. It holds a file for
each part, `validation.parquet` and `test.parquet`, and one for each scored file. In a run these
belong to the best checkpoint; those of other checkpoints are in subfolders such as `step-00000020`.
Files of baselines start with the baseline's name.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AwareDatetime, Field, ValidationError

from engine.config import Spec
from engine.config.dataset import SPLITS, SplitName, moved
from engine.config.tasks.pretraining import Pretraining
from engine.errors import StudioError
from engine.files.atomic_write import disk_errors_for
from engine.files.home import Home, folder_name
from engine.files.regular_file import check_regular, iter_lines, open_regular
from engine.messages.evaluating import Evaluate, FitBaselines, Part
from engine.results.predictions import METADATA_KEY, PredictionInfo
from engine.runs.folder import STEP, RunFolder
from engine.runs.lock import open_here
from engine.runs.snapshots import find_run

SUFFIX = ".parquet"
LOG_FILE = "test-evaluations.jsonl"


class StoredPredictions(NamedTuple):
    """A file of predictions with its metadata, without its rows."""

    file: Path
    info: PredictionInfo
    rows: int


class LoggedEvaluation(Spec):
    """One evaluation of test rows. Choosing by test scores overfits them.

    Args:
        at: time in UTC.
        model: name of the run or of the model.
        step: of the checkpoint; None if unknown.
        source: name of the data set.
        fingerprint: of the data set.
        metrics: by name.
    """

    at: AwareDatetime
    model: str
    step: int | None = None
    source: str
    fingerprint: str = ""
    metrics: dict[str, float] = Field(default_factory=dict)


def predictions_file(folder: Path, part: Part, source: str = "", baseline: str = "") -> Path:
    """The file of the predictions for a part in a results folder.

    `source` is the name of a scored file, `baseline` that of a baseline.
    """
    names = [baseline, part, folder_name(source) if part == "file" else ""]
    return folder / ("-".join(filter(None, names)) + SUFFIX)


def results_root(folder: Path) -> Path:
    """The results folder itself, or the parent of one that belongs to a step."""
    return folder.parent if STEP.fullmatch(folder.name) else folder


def results_folder(checkpoint: Path, home: Home) -> Path:
    """The results folder of a checkpoint: of its run, or in the home for a model."""
    run = find_run(checkpoint)
    return run.results if run is not None else home.results / folder_name(checkpoint.name)


def stored_predictions(folder: Path) -> list[StoredPredictions]:
    """The predictions in a results folder, without damaged files.

    The best checkpoint comes first, then the others by step, each by part, files last. Only
    metadata are read.
    """
    inner = sorted(folder.iterdir()) if folder.is_dir() else []
    folders = [folder, *(path for path in inner if STEP.fullmatch(path.name))]
    files = [file for path in folders for file in _files(path)]
    return [stored for stored in map(_read_stored, files) if stored is not None]


def baselines_in(folder: Path, part: SplitName, fingerprint: str) -> list[StoredPredictions]:
    """The predictions of baselines for a part of a data set, by name."""
    stored_files = map(_read_stored, sorted(folder.glob(f"?*-{part}{SUFFIX}")))
    return [
        item for item in stored_files if item is not None and item.info.fingerprint == fingerprint
    ]


def log_evaluation(folder: Path, info: PredictionInfo) -> int:
    """Log an evaluation of test rows; returns their number so far.

    Raises StudioError on a disk error.
    """
    entry = LoggedEvaluation(
        at=datetime.now(UTC),
        model=info.model,
        step=info.step,
        source=info.source,
        fingerprint=info.fingerprint,
        metrics=info.metrics,
    )
    with disk_errors_for(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = open_here(folder / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as file:
            file.write(entry.model_dump_json().encode("utf-8") + b"\n")
    return len(logged_evaluations(folder, info.fingerprint))


def logged_evaluations(folder: Path, fingerprint: str | None = None) -> list[LoggedEvaluation]:
    """The evaluations of test rows, oldest first, of one data set or of all.

    Damaged lines are ignored.
    """
    return [entry for entry in _read_log(folder) if fingerprint in (None, entry.fingerprint)]


def evaluation_question(run: RunFolder, part: SplitName, step: int | None = None) -> Evaluate:
    """The `Evaluate` question for a part of a run's data and its best checkpoint, or a step's.

    Raises StudioError if there is no such checkpoint.
    """
    job = run.job()
    best = run.best_step()
    step = best if step is None else step
    checkpoint = run_checkpoint(run, step)
    assert step is not None
    data = moved(job.data, run.dataset) if run.dataset.is_dir() else job.data
    return Evaluate(
        checkpoint=checkpoint,
        data=data,
        part=part,
        into=run.results if step == best else run.results / checkpoint.name,
        model=job.name,
        source=job.data.name,
        step=step,
        best_metric=job.training.best_metric,
        max_length=job.training.max_length,
        batch_size=job.training.batch_size,
        pretraining=job.task if isinstance(job.task, Pretraining) else None,
        seed=job.training.seed,
    )


def best_checkpoint(run: RunFolder) -> Path:
    """The folder of a run's best checkpoint. Raises StudioError if there is none."""
    return run_checkpoint(run, run.best_step())


def run_checkpoint(run: RunFolder, step: int | None) -> Path:
    """The folder of a run's checkpoint. Raises StudioError if there is none."""
    if step is None or not run.checkpoint(step).is_dir():
        raise StudioError(
            "The run {name} has no such checkpoint.",
            "Resume the run until it has saved one, or choose another run.",
            name=run.path.name,
        )
    return run.checkpoint(step)


def baselines_question(run: RunFolder, part: SplitName, labels: tuple[str, ...]) -> FitBaselines:
    """The `FitBaselines` question for a part of a run's data.

    `labels` are those of the predictions, in order.
    """
    job = run.job()
    return FitBaselines(
        data=moved(job.data, run.dataset) if run.dataset.is_dir() else job.data,
        part=part,
        into=run.results,
        task=job.task.kind,
        labels=labels,
        source=job.data.name,
    )


def _files(folder: Path) -> list[Path]:
    return [
        *(predictions_file(folder, part) for part in SPLITS),
        *sorted(folder.glob(f"file-*{SUFFIX}")),
    ]


def _read_log(folder: Path) -> Iterator[LoggedEvaluation]:
    try:
        with open_regular(folder / LOG_FILE) as file:
            lines = list(iter_lines(file))
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield LoggedEvaluation.model_validate_json(line)
        except ValidationError:
            continue


def _read_stored(file: Path) -> StoredPredictions | None:
    try:
        metadata = pq.read_metadata(check_regular(file))
        info = PredictionInfo.model_validate_json((metadata.metadata or {})[METADATA_KEY])
    except (OSError, KeyError, ValidationError, pa.ArrowException):
        return None
    return StoredPredictions(file, info, int(metadata.num_rows))
