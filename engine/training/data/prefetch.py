"""The batches of a run, made on the host; the next ones while a GPU works on this one."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from engine.models.network import Network
from engine.tasks.learner import Batch, Examples
from engine.training.data.training_data import TrainingData

PREFETCH_THREADS = 4  # most of the work is done by NumPy, which lets other threads run


class StepInput(NamedTuple):
    """What a step is given: a batch, and which of the examples it is made of, int64 [B]."""

    examples: Examples
    numbers: np.ndarray
    batch: Batch


def batches(
    data: TrainingData, first: int, ahead: bool = False, plans_for: Network | None = None
) -> Iterator[StepInput]:
    """What each step from `first` on is given.

    With `ahead`, threads make the next batches meanwhile, and the plans with which the network
    `plans_for` goes through them without padding. That pays where the steps run on a device of
    their own; on processors the threads would only take their time.
    """

    def one(step: int, examples: Examples, numbers: np.ndarray) -> StepInput:
        batch = examples.read(data.batch_of(step, examples, numbers), numbers)
        if plans_for is not None:
            batch = batch.planned(plans_for)
        return StepInput(examples, numbers, batch)

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
