"""Batches of a run, built on the host; in threads ahead of a GPU."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from engine.models.network import Network
from engine.tasks.learner import Batch, Examples
from engine.training.data.training_data import TrainingData

PREFETCH_THREADS = 4  # NumPy does most of the work and releases the GIL


class StepInput(NamedTuple):
    """Batch of a step, and the indices of its examples, int64 [B]."""

    examples: Examples
    indices: np.ndarray
    batch: Batch


def batches(
    data: TrainingData, first: int, ahead: bool = False, plans_for: Network | None = None
) -> Iterator[StepInput]:
    """Yield the input of each step from `first` on.

    With `ahead`, threads build the next batches and, for `plans_for`, their unpadded plans. This
    helps on a GPU only; on a CPU the threads compete with the step.
    """

    def one(step: int, examples: Examples, indices: np.ndarray) -> StepInput:
        batch = examples.read(data.batch_of(step, examples, indices), indices)
        if plans_for is not None:
            batch = batch.planned(plans_for)
        return StepInput(examples, indices, batch)

    steps = range(first, data.steps)
    if not ahead:
        for step in steps:
            yield one(step, *data.examples_at(step))
        return
    coming = deque[Future[StepInput]]()
    with ThreadPoolExecutor(PREFETCH_THREADS) as threads:
        for step in steps:
            coming.append(threads.submit(one, step, *data.examples_at(step)))
            if len(coming) > PREFETCH_THREADS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
