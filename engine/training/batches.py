"""Which examples each step sees: it follows from the seed and the step alone."""

import numpy as np

from engine.tasks.rng import ORDER, SHARE, rng_for


class Order:
    """Every example once in each epoch, in batches drawn by chance.

    Lengths play no part in which examples are seen together: batches of similar length learn worse
    (DECISIONS has the figures). Inside of a batch the examples stand in the order of their lengths,
    so that parts of it need little padding.

    Args:
        lengths: tokens of each example, int [examples].
        share: train on this share of the examples, drawn once by the seed.
    """

    def __init__(self, lengths: np.ndarray, batch: int, seed: int, share: float = 1.0) -> None:
        everything = np.arange(len(lengths))
        if share < 1:
            count = max(1, round(share * len(lengths)))
            everything = np.sort(rng_for(seed, SHARE).permutation(everything)[:count])
        self._lengths, self._batch, self._seed = lengths, batch, seed
        self._examples = everything
        self._epoch, self._batches = -1, list[np.ndarray]()
        self.steps_per_epoch = -(-len(everything) // batch)

    def __len__(self) -> int:
        return len(self._examples)

    def numbers(self, step: int) -> np.ndarray:
        """The examples of a step, which counts from 0 over all epochs."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._deal(epoch)
        return self._batches[place]

    def _deal(self, epoch: int) -> list[np.ndarray]:
        random = rng_for(self._seed, ORDER, epoch)
        mixed = random.permutation(self._examples)
        batches = [mixed[i : i + self._batch] for i in range(0, len(mixed), self._batch)]
        return [one[np.argsort(self._lengths[one], kind="stable")] for one in batches]
