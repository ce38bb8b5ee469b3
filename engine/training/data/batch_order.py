"""Which examples each step sees: it follows from the seed and the step alone."""

import math

import numpy as np

from engine.config.training import TrainingSpec
from engine.tasks.rng import ORDER, SHARE, rng_for


class BatchOrder:
    """Every example once in each epoch, shuffled into batches.

    Lengths play no part in which examples share a batch: batches of similar length learn worse
    (DECISIONS has the figures). Inside a batch the examples are sorted by length, so that
    micro-batches need little padding.

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
            examples = np.sort(rng_for(seed, SHARE).permutation(examples)[:count])
        self._lengths, self._batch_size, self._seed = lengths, batch_size, seed
        self.examples = examples  # int64, rising: those that a run trains on
        self._epoch, self._batches = -1, list[np.ndarray]()
        self.steps_per_epoch = -(-len(examples) // batch_size)

    def __len__(self) -> int:
        return len(self.examples)

    def indices(self, step: int) -> np.ndarray:
        """The examples of a step, which counts from 0 over all epochs; int64 [B]."""
        epoch, index = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._shuffle(epoch)
        return self._batches[index]

    def _shuffle(self, epoch: int) -> list[np.ndarray]:
        mixed = rng_for(self._seed, ORDER, epoch).permutation(self.examples)
        size = self._batch_size
        batches = [mixed[i : i + size] for i in range(0, len(mixed), size)]
        return [one[np.argsort(self._lengths[one], kind="stable")] for one in batches]


def planned_steps(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """How many updates a run makes."""
    return settings.steps or max(1, math.ceil(settings.epochs * steps_per_epoch))


def planned_evaluations(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """How often it is evaluated on the validation set."""
    steps = planned_steps(settings, steps_per_epoch)
    return math.ceil(steps / evaluation_interval(settings, steps_per_epoch))


def first_long_step(steps: int, fraction: float) -> int:
    """From which step on the inputs are long, where a fraction of the steps, the last, has such."""
    return steps - round(fraction * steps)


def evaluation_interval(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between two evaluations: an epoch, or less so that a run has four of them."""
    steps = planned_steps(settings, steps_per_epoch)
    return settings.evaluate_every or max(1, min(steps_per_epoch, math.ceil(steps / 4)))


def save_interval(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between two checkpoints."""
    return settings.save_every or evaluation_interval(settings, steps_per_epoch)
