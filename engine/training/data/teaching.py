"""Outputs of a teacher as the targets of a run (distillation: Hinton et al. 2015).

They are computed once for all training rows and cached in the home, for all students of the
teacher; the cache is safe to delete.

Shapes: N rows, C outputs.
"""

import hashlib
import io
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from engine.config.prediction import PredictionSettings
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.files.atomic_write import write_file
from engine.files.home import Home
from engine.files.regular_file import check_regular
from engine.models import checkpoint
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner
from engine.tasks.evaluating import collect_predictions
from engine.tasks.learner import LogitsCollector
from engine.tasks.whole_text import WholeTextLearner
from engine.training.data.token_cache import TokenCache
from engine.training.data.training_data import Stage, TrainingData, TrainingRows
from engine.training.device.environment import weights_sha256

BATCH = 32  # rows
PART = 2_048  # rows in a file of the cache


def learn_from_teacher(
    data: TrainingData, source: TrainingRows, folder: Path, stage: Stage
) -> TrainingData:
    """The data with the outputs of the teacher in `folder` as targets, and a taught learner.

    Raises StudioError if the teacher does not have the labels of the run.
    """
    learner = data.learner
    assert isinstance(learner, WholeTextLearner)  # a rule of the job
    teacher = checkpoint.load(folder)
    order = _output_order(teacher, learner, folder)
    length = min(source.job.training.max_length, teacher.spec.max_positions)
    progress = stage(phrase("Asking the teacher"))
    outputs = teacher_outputs(teacher, source.rows, length, progress)[:, order]
    learner.taught = True
    phases = []
    for phase in data.phases:
        targets = phase.examples.spread(outputs)
        phases.append(replace(phase, examples=replace(phase.examples, targets=targets)))
    return replace(data, phases=tuple(phases))


def _output_order(teacher: Checkpoint, learner: WholeTextLearner, folder: Path) -> list[int]:
    """The output of the teacher for each output of the learner."""
    heads, known = teacher.network.heads, {name: n for n, name in enumerate(teacher.labels)}
    if heads.kind != learner.task.kind or known.keys() != set(learner.labels):
        raise StudioError(
            "The teacher {name} does not have the task and the labels of this run.",
            "Choose a model that was fine-tuned on the same labels.",
            name=folder.name,
        )
    return [known[name] for name in learner.labels] or list(range(heads.outputs))


def teacher_outputs(
    teacher: Checkpoint, rows: Rows, length: int, progress: ProgressCallback
) -> np.ndarray:
    """Logits of the teacher for rows, float32 [N, C], not calibrated.

    They are cached in parts, so an interrupted computation continues. `progress` gets rows.
    """
    key = f"{weights_sha256(teacher.network)} {length}"
    cache = TokenCache(Home().cache / "teachers")
    cache.delete_old()
    name, exact, parts = hashlib.sha256(key.encode()).hexdigest()[:24], None, list[np.ndarray]()
    with cache.reserve(name, lambda: progress(0, 0)) as inside:
        for first in range(0, len(rows), PART):
            part = rows.take(range(first, min(first + PART, len(rows)))).without_targets()
            file = inside / f"{_digest(part)}.npy"
            if not file.exists():
                exact = exact or Serving(teacher).exact
                report = partial(_report_rows, progress, first, len(part), len(rows))
                write_file(file, _to_bytes(_ask(exact, part, length, report)))
            parts.append(np.load(check_regular(file)))
            progress(first + len(part), len(rows))
    return np.concatenate(parts)


def _ask(teacher: Checkpoint, rows: Rows, length: int, progress: ProgressCallback) -> np.ndarray:
    learner = checkpoint_learner(teacher)
    assert learner is not None
    learner.prediction = PredictionSettings()
    collector = collect_predictions(teacher, learner, rows, length, BATCH, progress)
    assert isinstance(collector, LogitsCollector)
    return collector.logits


def _report_rows(
    progress: ProgressCallback, first: int, count: int, of: int, done: int, total: int
) -> None:
    """Report batches of a part as rows of all parts."""
    progress(first + done * count // max(total, 1), of)


def _digest(rows: Rows) -> str:
    texts = [[*rows.texts], None if rows.pairs is None else [*rows.pairs]]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32]


def _to_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
