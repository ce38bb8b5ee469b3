"""Where predictions are kept, which there are, and how often test rows were scored.

A folder of results belongs to a run (`results` in it) or to a model of the home. It holds a file
for each part, `validation.parquet` and `test.parquet`, and one for each file that was scored; for a
run they are those of its best checkpoint, and those of any other one stand in a folder of its name,
as `step-00000020`. Baselines have their name before that of the part.
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
from engine.config.dataset import SPLITS, SplitName, StoredData
from engine.config.tasks.pretraining import Pretraining
from engine.errors import StudioError
from engine.files.atomic_write import disk_errors_for
from engine.files.home import Home, folder_name
from engine.files.regular_file import check_regular, iter_lines, open_regular
from engine.messages.evaluating import Evaluate, FitBaselines, Part
from engine.phrases import phrase
from engine.results.predictions import METADATA_KEY, PredictionInfo
from engine.runs.folder import STEP, RunFolder
from engine.runs.lock import open_here

SUFFIX = ".parquet"
LOOKS = "test-looks.jsonl"


class Kept(NamedTuple):
    """Predictions that are kept: their file, and what its metadata say, without its rows."""

    file: Path
    info: PredictionInfo
    rows: int


class Look(Spec):
    """One time that test rows were scored. A score that was looked at is no longer unseen: who
    chooses by it overfits the test rows.

    Args:
        at: when, in UTC.
        model: name of the run or of the model.
        step: of the checkpoint; None where the model has none.
        source: name of the data set.
        fingerprint: of the data set.
        metrics: what was measured.
    """

    at: AwareDatetime
    model: str
    step: int | None = None
    source: str
    fingerprint: str = ""
    metrics: dict[str, float] = Field(default_factory=dict)


def file_of(folder: Path, part: Part, source: str = "", baseline: str = "") -> Path:
    """Where the predictions for a part stand in a folder of results.

    For the rows of a file, `source` is its name; for a baseline, `baseline` is its.
    """
    names = [baseline, part, folder_name(source) if part == "file" else ""]
    return folder / ("-".join(filter(None, names)) + SUFFIX)


def root_of(folder: Path) -> Path:
    """The folder of results that a folder is, or is a part of."""
    return folder.parent if STEP.fullmatch(folder.name) else folder


def results_of(checkpoint: Path, home: Home) -> Path:
    """The folder of results of a checkpoint: that of its run, or one of the home for a model."""
    run = RunFolder(checkpoint.parent.parent)
    if checkpoint.parent == run.checkpoints and run.spec_file.is_file():
        return run.results
    return home.results / folder_name(checkpoint.name)


def kept_in(folder: Path) -> list[Kept]:
    """The predictions of a model in a folder of results; damaged ones are left out.

    Those of the best checkpoint come first, then the others by step, each by part, files last.
    Only the metadata of the files are read.
    """
    inner = sorted(folder.iterdir()) if folder.is_dir() else []
    folders = [folder, *(one for one in inner if STEP.fullmatch(one.name))]
    files = [file for one in folders for file in _files(one)]
    return [one for one in map(_kept, files) if one is not None]


def baselines_in(folder: Path, part: SplitName, fingerprint: str) -> list[Kept]:
    """The predictions of baselines for a part of a data set, in the order of their names."""
    found = map(_kept, sorted(folder.glob(f"?*-{part}{SUFFIX}")))
    return [one for one in found if one is not None and one.info.fingerprint == fingerprint]


def note_look(folder: Path, facts: PredictionInfo) -> int:
    """Note in a folder of results that test rows were scored; how often they have been by now.

    Raises StudioError where the disk refuses it.
    """
    look = Look(
        at=datetime.now(UTC),
        model=facts.model,
        step=facts.step,
        source=facts.source,
        fingerprint=facts.fingerprint,
        metrics=facts.metrics,
    )
    with disk_errors_for(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = open_here(folder / LOOKS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as file:
            file.write(look.model_dump_json().encode("utf-8") + b"\n")
    return len(looks_in(folder, facts.fingerprint))


def looks_in(folder: Path, fingerprint: str | None = None) -> list[Look]:
    """Each time that test rows were scored, the first one first; of one data set, or of all.

    A damaged line counts for nothing.
    """
    return [look for look in _looks(folder) if fingerprint in (None, look.fingerprint)]


def evaluation_of_run(run: RunFolder, part: SplitName, step: int | None = None) -> Evaluate:
    """The question that scores a part of a run's data by its best checkpoint, or that of a step.

    Raises StudioError where there is no such checkpoint.
    """
    job = run.job()
    best = run.best_step()
    step = best if step is None else step
    checkpoint = checkpoint_of(run, step)
    assert step is not None
    data = StoredData(folder=run.dataset) if run.dataset.is_dir() else job.data
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
    """The folder of a run's best checkpoint. Raises StudioError where there is none."""
    return checkpoint_of(run, run.best_step())


def checkpoint_of(run: RunFolder, step: int | None) -> Path:
    """The folder of a run's checkpoint. Raises StudioError where there is no such one."""
    if step is None or not run.checkpoint(step).is_dir():
        raise StudioError(
            phrase("The run {name} has no such checkpoint.", name=run.path.name),
            phrase("Resume the run until it has saved one, or choose another run."),
        )
    return run.checkpoint(step)


def baselines_of_run(run: RunFolder, part: SplitName, labels: tuple[str, ...]) -> FitBaselines:
    """The question that fits the baselines on the training rows of a run, for a part.

    `labels` are those of its predictions, in their order.
    """
    job = run.job()
    return FitBaselines(
        data=StoredData(folder=run.dataset) if run.dataset.is_dir() else job.data,
        part=part,
        into=run.results,
        task=job.task.kind,
        labels=labels,
        source=job.data.name,
    )


def _files(folder: Path) -> list[Path]:
    """Those of the parts, and those of files, by name."""
    return [*(file_of(folder, part) for part in SPLITS), *sorted(folder.glob(f"file-*{SUFFIX}"))]


def _looks(folder: Path) -> Iterator[Look]:
    try:
        with open_regular(folder / LOOKS) as file:
            lines = list(iter_lines(file))
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield Look.model_validate_json(line)
        except ValidationError:
            continue


def _kept(file: Path) -> Kept | None:
    try:
        metadata = pq.read_metadata(check_regular(file))
        facts = PredictionInfo.model_validate_json((metadata.metadata or {})[METADATA_KEY])
    except (OSError, KeyError, ValidationError, pa.ArrowException):
        return None
    return Kept(file, facts, int(metadata.num_rows))
