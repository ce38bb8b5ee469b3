"""Texts that students learn from, and rows that they are measured on."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from engine.config.dataset import DataSource, FileData, Mapping, Reading, Split, moved
from engine.config.job import JobSpec
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, resolve
from engine.errors import StudioError
from engine.models.checkpoint import Checkpoint
from engine.phrases import Phrase, phrase
from engine.progress import no_progress
from engine.runs.folder import RunFolder
from engine.tasks import checkpoint_learner
from engine.tasks.whole_text import WholeTextLearner
from engine.training.data.teaching import teacher_outputs

MAX_ROWS = 2_000  # validation rows
NO_SPLIT = Split(validation=0, test=0)

Working = Callable[[Phrase, int, int], None]  # stage, done, total


@dataclass(frozen=True)
class Material:
    """What students of a run learn from, and what they are measured on.

    Args:
        source: the data of their jobs.
        dataset: the same, read.
        validation: rows of the run, at most `MAX_ROWS`.
        mapping: of the columns of the validation rows.
    """

    source: DataSource
    dataset: Dataset
    validation: Rows
    mapping: Mapping


def read_material(
    run: RunFolder, teacher: Checkpoint, texts: Path | None, folder: Path, working: Working
) -> Material:
    """The rows of the run and further texts without labels, stored in `folder`.

    Raises StudioError if there are no validation rows or no further texts.
    """
    job = run.job()
    is_copied = run.dataset.is_dir()
    source: DataSource = moved(job.data, run.dataset) if is_copied else job.data
    dataset = resolve(source, folder / "rows", no_progress, task=job.task)
    learner = checkpoint_learner(teacher)
    assert isinstance(learner, WholeTextLearner)  # as its task can teach
    validation = _validation_rows(learner.rows(dataset, "validation"))
    mapping = dataset.spec.mapping
    if texts is not None:
        target = folder / f"texts-{_version(texts)}"
        source = _with_texts(job, dataset, teacher, learner, texts, target, working)
        dataset = resolve(source, target / "all", no_progress, task=job.task)
    return Material(source, dataset, validation, mapping)


def _validation_rows(rows: Rows) -> Rows:
    if not len(rows):
        raise StudioError(
            "The run has no validation rows to measure students on.",
            "Train it on a data set with validation rows.",
        )
    chosen = np.random.default_rng(0).permutation(len(rows))[:MAX_ROWS]
    return rows.take(np.sort(chosen))


def _with_texts(
    job: JobSpec,
    dataset: Dataset,
    teacher: Checkpoint,
    learner: WholeTextLearner,
    file: Path,
    target: Path,
    working: Working,
) -> FileData:
    """The rows of the run and further texts, whose label is what the teacher predicts.

    They are stored in `target`, unless they are there.
    """
    head = job.task.info.head
    assert head is not None
    train, validation = dataset.rows("train"), dataset.rows("validation")
    if train.pairs is not None or train.labels is None or head.is_multi_label:
        raise StudioError(
            "Texts without labels can be added only to single texts with one label or number.",
            "Leave the file out.",
        )
    target.mkdir(exist_ok=True)
    source = FileData(
        path=target / "train.parquet",
        validation=target / "validation.parquet",
        reading=Reading(format="parquet"),
        mapping=Mapping(text="text", label="label"),
    )
    if not source.path.exists():
        texts = resolve(FileData(path=file, split=NO_SPLIT), target / "rows").rows("train").texts
        known = {*train.texts, *validation.texts}
        new = [text for text in dict.fromkeys(texts) if text.strip() and text not in known]
        if not new:
            raise StudioError(
                "{file} has no text that the data set lacks.",
                "Choose a file with other texts, or leave it out.",
                file=file.name,
            )
        stage = phrase("Asking the teacher about {n:,} text(s)", n=len(new))
        length = min(job.training.max_length, teacher.spec.max_positions)
        # of all rows, as the students' runs ask for them
        rows = Rows(texts=[*train.texts, *new])
        outputs = teacher_outputs(teacher, rows, length, lambda done, of: working(stage, done, of))
        described = map(learner.describe_output, torch.from_numpy(outputs[-len(new) :]))
        labels = [str(output.get("label", output["value"])) for output in described]
        assert source.validation is not None and validation.labels is not None
        _write(source.validation, validation.texts, validation.labels)
        _write(source.path, rows.texts, [*train.labels, *labels])
    return source


def _version(file: Path) -> str:
    """A short text that differs for other contents. Raises OSError."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:8]


def _write(file: Path, texts: Sequence[str], labels: Sequence[str]) -> None:
    pq.write_table(pa.table({"text": list(texts), "label": list(labels)}), file)
