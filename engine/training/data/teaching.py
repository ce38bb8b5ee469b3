"""Outputs of a teacher as the targets of a run (distillation: Hinton et al. 2015).

They are computed once for all training rows and cached in the home, for all students of the
teacher; the cache is safe to delete.

Shapes: N rows, C outputs.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.config.prediction import PredictionSettings
from engine.errors import StudioError
from engine.files.home import Home
from engine.files.regular_file import check_regular
from engine.models import checkpoint
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner
from engine.tasks.evaluating import collect_predictions
from engine.tasks.learner import LogitsCollector
from engine.tasks.whole_text import WholeTextLearner
from engine.training.data.token_cache import TokenCache
from engine.training.data.training_data import Stage, TrainingData, TrainingRows
from engine.training.device.environment import weights_sha256

BATCH = 32  # rows
OUTPUTS = "outputs.npy"


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
    outputs = _outputs(teacher, source, length, stage)[:, order]
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


def _outputs(teacher: Checkpoint, source: TrainingRows, length: int, stage: Stage) -> np.ndarray:
    """Logits of the teacher for all training rows, float32 [N, C], not calibrated."""
    progress = stage(phrase("Asking the teacher"))
    key = f"{weights_sha256(teacher.network)} {source.dataset.identity} {length}"
    cache = TokenCache(Home().cache / "teachers")
    cache.delete_old()
    name = hashlib.sha256(key.encode()).hexdigest()[:24]
    with cache.reserve(name, lambda: progress(0, 0)) as inside:
        file = inside / OUTPUTS
        if file.exists():
            stored: np.ndarray = np.load(check_regular(file))
            return stored
        learner = checkpoint_learner(teacher)
        assert learner is not None
        learner.prediction = PredictionSettings()
        collector = collect_predictions(
            Serving(teacher).exact, learner, source.rows.without_targets(), length, BATCH, progress
        )
        assert isinstance(collector, LogitsCollector)
        np.save(file, collector.logits)
        return collector.logits
