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
            shuffled = self._shuffled(rng_for(self._seed, ORDER, epoch))
            starts = range(0, len(shuffled), self._batch_size)
            self._batches = [self._sorted(shuffled[n : n + self._batch_size]) for n in starts]
            self._epoch = epoch
        return self._batches[index]

    def _shuffled(self, rng: np.random.Generator) -> np.ndarray:
        """The examples of an epoch."""
        return rng.permutation(self.examples)

    def _sorted(self, batch: np.ndarray) -> np.ndarray:
        """A batch in the order of its lengths."""
        return batch[np.argsort(self._lengths[batch], kind="stable")]


class PairOrder(BatchOrder):
    """Pairs of examples: in an epoch, each with a random one of its class and one of another class.

    A class with a single example pairs it with itself, whose two vectors differ by dropout.

    Args:
        classes: int64 [examples]; the others are those of `BatchOrder`, `batch_size` counts pairs.
    """

    def __init__(
        self,
        lengths: np.ndarray,
        classes: np.ndarray,
        batch_size: int,
        seed: int,
        fraction: float = 1.0,
    ) -> None:
        super().__init__(lengths, batch_size, seed, fraction)
        self._classes = classes[self.examples]
        self.steps_per_epoch = -(-2 * len(self.examples) // batch_size)

    def _shuffled(self, rng: np.random.Generator) -> np.ndarray:
        """Pairs of an epoch, int64 [2 examples, 2]."""
        same, other = np.empty_like(self.examples), np.empty_like(self.examples)
        for index in np.unique(self._classes):
            inside = np.flatnonzero(self._classes == index)
            outside = np.flatnonzero(self._classes != index)
            steps = rng.integers(1, max(2, len(inside)), len(inside))  # to another one
            same[inside] = self.examples[inside[(np.arange(len(inside)) + steps) % len(inside)]]
            chosen = outside if len(outside) else inside
            other[inside] = self.examples[rng.choice(chosen, len(inside))]
        pairs = np.concatenate([np.stack([self.examples, part], 1) for part in (same, other)])
        return rng.permutation(pairs)

    def _sorted(self, batch: np.ndarray) -> np.ndarray:
        """The examples of pairs, one pair after the other, int64 [2 B]."""
        return batch[np.argsort(self._lengths[batch].max(axis=1), kind="stable")].reshape(-1)


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
