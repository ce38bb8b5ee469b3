"""Order of batches, a function of seed and step, and the number of steps of a run."""

import math

import numpy as np

from engine.config.training import TrainingSpec
from engine.tasks.rng import ORDER, SUBSET, rng_for


class BatchOrder:
    """Every example once per epoch, shuffled into batches.

    Batches are not grouped by length: batches of similar length train worse. Within a batch,
    examples are sorted by length, so that micro-batches need little padding.

    Args:
        lengths: tokens of each example, int [examples].
        fraction: train on this fraction of the examples, drawn once by the seed.
    """

    def __init__(
        self, lengths: np.ndarray, batch_size: int, seed: int, fraction: float = 1.0
    ) -> None:
        examples = np.arange(len(lengths))
        if fraction < 1:
            count = max(1, round(fraction * len(lengths)))
            examples = np.sort(rng_for(seed, SUBSET).permutation(examples)[:count])
        self._lengths, self._batch_size, self._seed = lengths, batch_size, seed
        self.examples = examples  # int64, ascending: the training subset
        self._epoch, self._batches = -1, list[np.ndarray]()
        self.steps_per_epoch = -(-len(examples) // batch_size)

    def __len__(self) -> int:
        return len(self.examples)

    def indices(self, step: int) -> np.ndarray:
        """Examples of a step, int64 [B]; steps count from 0 over all epochs."""
        epoch, index = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            shuffled = rng_for(self._seed, ORDER, epoch).permutation(self.examples)
            starts = range(0, len(shuffled), self._batch_size)
            batches = (shuffled[start : start + self._batch_size] for start in starts)
            self._batches = [b[np.argsort(self._lengths[b], kind="stable")] for b in batches]
            self._epoch = epoch
        return self._batches[index]


def count_steps(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Number of updates of a run."""
    return settings.steps or max(1, math.ceil(settings.epochs * steps_per_epoch))


def count_evaluations(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Number of evaluations on the validation set."""
    steps = count_steps(settings, steps_per_epoch)
    return math.ceil(steps / evaluation_interval(settings, steps_per_epoch))


def first_long_step(steps: int, fraction: float) -> int:
    """First step with long inputs, if the last `fraction` of the steps has them."""
    return steps - round(fraction * steps)


def evaluation_interval(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between evaluations: an epoch, or a quarter of the run if that is shorter."""
    steps = count_steps(settings, steps_per_epoch)
    return settings.evaluate_every or max(1, min(steps_per_epoch, math.ceil(steps / 4)))


def save_interval(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between two checkpoints."""
    return settings.save_every or evaluation_interval(settings, steps_per_epoch)
