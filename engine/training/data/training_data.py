"""Tokenized examples of a run, and the batch of each step."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.checkpoints.heads import TASK, TEXTS
from engine.config.dataset import SplitName
from engine.config.features import CONTRASTIVE
from engine.config.job import JobSpec
from engine.config.training import TrainingSpec
from engine.data.columns.fit import dataset_problems
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, resolve
from engine.data.tokenized.dataset import cache_key
from engine.errors import StudioError
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks import learner_for
from engine.tasks.contrastive import ContrastiveLearner
from engine.tasks.learner import Batch, Examples, Learner
from engine.tasks.rng import MASKS, rng_for
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.data.batch_order import (
    BatchOrder,
    PairOrder,
    count_steps,
    first_long_step,
)
from engine.training.data.token_cache import shared_tokens

Stage = Callable[[str], ProgressCallback]  # progress callback of a named stage


@dataclass(frozen=True)
class TrainingRows:
    """Data set of a job, with a learner that has read the training labels."""

    job: JobSpec
    dataset: Dataset
    learner: Learner
    rows: Rows  # of the training set


@dataclass(frozen=True)
class Phase:
    """Consecutive steps on the same examples, starting at `first_step`."""

    first_step: int
    examples: Examples
    order: BatchOrder


@dataclass(frozen=True)
class TrainingData:
    """Examples of a run, and their order."""

    tokenizer: Tokenizer
    learner: Learner
    dataset: Dataset
    phases: tuple[Phase, ...]
    validation: Examples | None  # None without a validation set
    steps: int
    seed: int

    @property
    def config_entries(self) -> dict[str, Any]:
        """The task and its texts, for config.json; empty without a task head."""
        if not self.learner.heads.outputs:
            return {}
        mapping = self.dataset.spec.mapping
        texts = {"text": mapping.text, "pair": mapping.pair}
        task = self.learner.task.without_labels().model_dump(mode="json")
        return {TASK: task, TEXTS: {role: name for role, name in texts.items() if name}}

    def examples_at(self, step: int) -> tuple[Examples, np.ndarray]:
        """Examples of a step, counted from 0, and the indices it uses, int64 [B]."""
        phase = next(p for p in reversed(self.phases) if p.first_step <= step)
        return phase.examples, phase.order.indices(step - phase.first_step)

    def batch(self, step: int) -> Batch:
        """Batch of a step."""
        return self.build_batch(step, *self.examples_at(step))

    def build_batch(self, step: int, examples: Examples, indices: np.ndarray) -> Batch:
        """Batch from the result of `examples_at`; thread-safe."""
        return self.learner.training_batch(
            examples, indices, self.tokenizer, rng_for(self.seed, MASKS, step)
        )


def read_rows(
    job: JobSpec, folder: Path, stage: Stage, stop_requested: Callable[[], bool] = lambda: False
) -> TrainingRows:
    """Read the data set of a job; the run keeps a copy in `folder`.

    Raises:
        StudioError: the data cannot be read, or does not suit the task.
        Cancelled: a stop was requested.
    """
    reading = stage(phrase("Reading the data set"))
    dataset = resolve(job.data, folder, reading, stop_requested, job.task)
    for problem in dataset_problems(dataset.stored, job.task):
        raise problem
    is_contrastive = job.features.vectors == CONTRASTIVE
    learner = ContrastiveLearner(job.task) if is_contrastive else learner_for(job.task)
    rows = learner.rows(dataset, "train")
    learner.fit_labels(rows)
    return TrainingRows(job, dataset, learner, rows)


def tokenise(
    source: TrainingRows, tokenizer: Tokenizer, max_positions: int, stage: Stage
) -> TrainingData:
    """Tokenize the rows, or reuse the token cache.

    Args:
        max_positions: maximum length of the network, in tokens.
    """
    settings, learner = source.job.training, source.learner
    long_length, long_fraction = learner.long_inputs
    length, long_length = (min(n, max_positions) for n in (settings.max_length, long_length))
    learner.fit_length(length)
    tokenizing = _CachedTokenizer(source, tokenizer)
    train = tokenizing.tokenize(
        source.rows, "train", length, stage(phrase("Tokenising the training set"))
    )
    validation = None
    if len(rows := learner.rows(source.dataset, "validation")):
        progress = stage(phrase("Tokenising the validation set"))
        validation = tokenizing.tokenize(rows, "validation", length, progress)
    train = learner.training_examples(train)
    if not len(train):
        raise StudioError("The training set has no text.", "Choose another text column.")
    phases = [_phase(0, train, learner, settings)]
    steps = count_steps(settings, phases[0].order.steps_per_epoch)
    if long_length > length:
        progress = stage(phrase("Tokenising the training set for long inputs"))
        long = tokenizing.tokenize(source.rows, "train", long_length, progress)
        phases.append(_phase(first_long_step(steps, long_fraction), long, learner, settings))
    return TrainingData(
        tokenizer, learner, source.dataset, tuple(phases), validation, steps, settings.seed
    )


def _phase(first_step: int, examples: Examples, learner: Learner, settings: TrainingSpec) -> Phase:
    order = batch_order(learner, examples.lengths, examples.targets, settings)
    return Phase(first_step, examples, order)


def batch_order(
    learner: Learner, lengths: np.ndarray, targets: np.ndarray | None, settings: TrainingSpec
) -> BatchOrder:
    """The order of examples with these lengths, int [N], and targets [N, …]."""
    how = settings.batch_size, settings.seed, settings.train_fraction
    if isinstance(learner, ContrastiveLearner):
        assert targets is not None
        return PairOrder(lengths, np.resize(targets, len(lengths)), *how)
    return BatchOrder(lengths, *how)


@dataclass(frozen=True)
class _CachedTokenizer:
    """Tokenizes rows through the token cache."""

    source: TrainingRows
    tokenizer: Tokenizer

    def tokenize(
        self, rows: Rows, split: SplitName, length: int, progress: ProgressCallback
    ) -> Examples:
        shared, learner = shared_tokens(), self.source.learner
        shared.delete_old()
        name = cache_key(self.source.dataset.identity, self.tokenizer, 0, split)
        with shared.reserve(name, lambda: progress(0, 0)) as inside:
            folder = inside / f"{learner.tokenization}-{length}"
            return learner.tokenize(rows, self.tokenizer, length, folder, progress)
