"""The token ids that a run trains and is evaluated on, and which of them each step sees."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.config.dataset import SplitName
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
from engine.tasks.learner import Batch, Examples, Learner
from engine.tasks.rng import MASKS, rng_for
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.data.batch_order import BatchOrder, first_long_step, planned_steps
from engine.training.data.token_cache import shared_tokens

Stage = Callable[[str], ProgressCallback]  # gives the callback of a stage by its name


@dataclass(frozen=True)
class TrainingRows:
    """The data set of a job, and a learner that has read the labels of the training set."""

    job: JobSpec
    dataset: Dataset
    learner: Learner
    rows: Rows  # of the training set


@dataclass(frozen=True)
class Phase:
    """Steps in a row that see the same examples, from step `first` on."""

    first: int
    examples: Examples
    order: BatchOrder


@dataclass(frozen=True)
class TrainingData:
    """All that a run learns from, and in which order."""

    tokenizer: Tokenizer
    learner: Learner
    dataset: Dataset
    phases: tuple[Phase, ...]
    validation: Examples | None  # None where the data set has no validation set
    steps: int
    seed: int

    def examples_at(self, step: int) -> tuple[Examples, np.ndarray]:
        """The examples of a step, which counts from 0, and which of them it sees, int64 [B]."""
        phase = next(p for p in reversed(self.phases) if p.first <= step)
        return phase.examples, phase.order.indices(step - phase.first)

    def batch(self, step: int) -> Batch:
        """What the network is given in a step."""
        return self.batch_of(step, *self.examples_at(step))

    def batch_of(self, step: int, examples: Examples, numbers: np.ndarray) -> Batch:
        """The same, of what `examples_at` says; safe in any thread."""
        return self.learner.batch(
            examples, numbers, self.tokenizer, rng_for(self.seed, MASKS, step)
        )


def read_rows(
    job: JobSpec, folder: Path, stage: Stage, stop_wanted: Callable[[], bool] = lambda: False
) -> TrainingRows:
    """Read the data set of a job, which a run keeps in `folder`.

    Raises:
        StudioError: the data cannot be read, or is not what the task can learn from.
        Cancelled: a stop was wanted.
    """
    reading = stage(phrase("Reading the data set"))
    dataset = resolve(job.data, folder, reading, stop_wanted, job.task)
    for problem in dataset_problems(dataset.spec, job.task):
        raise problem
    learner = learner_for(job.task)
    rows = learner.rows(dataset, "train")
    learner.fit_labels(rows)
    return TrainingRows(job, dataset, learner, rows)


def tokenise(
    read: TrainingRows, tokenizer: Tokenizer, max_positions: int, stage: Stage
) -> TrainingData:
    """The token ids of what was read, made now or found where another run has made them.

    Args:
        max_positions: how many tokens the network takes at most.
    """
    settings, learner = read.job.training, read.learner
    long_length, long_fraction = learner.long_inputs
    length, long_length = (min(n, max_positions) for n in (settings.max_length, long_length))
    tokenizing = _CachedTokenizer(read, tokenizer)
    train = tokenizing.tokenize(
        read.rows, "train", length, stage(phrase("Tokenising the training set"))
    )
    validation = None
    if len(rows := learner.rows(read.dataset, "validation")):
        progress = stage(phrase("Tokenising the validation set"))
        validation = tokenizing.tokenize(rows, "validation", length, progress)
    if not len(train):
        raise StudioError(
            phrase("The training set has no text."), phrase("Choose another text column.")
        )
    phases = [_phase(0, train, settings)]
    steps = planned_steps(settings, phases[0].order.steps_per_epoch)
    if long_length > length:
        progress = stage(phrase("Tokenising the training set for long inputs"))
        long = tokenizing.tokenize(read.rows, "train", long_length, progress)
        phases.append(_phase(first_long_step(steps, long_fraction), long, settings))
    return TrainingData(
        tokenizer, learner, read.dataset, tuple(phases), validation, steps, settings.seed
    )


def _phase(first: int, examples: Examples, settings: TrainingSpec) -> Phase:
    order = BatchOrder(
        examples.lengths, settings.batch_size, settings.seed, settings.train_fraction
    )
    return Phase(first, examples, order)


@dataclass(frozen=True)
class _CachedTokenizer:
    """Makes token ids from rows, or finds those that an earlier run has made from the same."""

    read: TrainingRows
    tokenizer: Tokenizer

    def tokenize(
        self, rows: Rows, split: SplitName, length: int, progress: ProgressCallback
    ) -> Examples:
        shared, learner = shared_tokens(), self.read.learner
        shared.drop_old()
        name = cache_key(self.read.dataset.spec.fingerprint, self.tokenizer, 0, split)
        with shared.reserved(name, lambda: progress(0, 0)) as inside:
            folder = inside / f"{learner.tokenization}-{length}"
            return learner.tokenize(rows, self.tokenizer, length, folder, progress)
