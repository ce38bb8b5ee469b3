"""The batches of a run, one after another, and the next ones while a device works on this one."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from engine.tasks.learner import Batch, Examples
from engine.training.preparing import Material

THREADS = 4  # most of the work is done by NumPy, which lets other threads go on


class Given(NamedTuple):
    """What a step is given: its batch, and which of the examples it is made of, int64 [B]."""

    examples: Examples
    numbers: np.ndarray
    batch: Batch


def batches(made: Material, first: int, ahead: bool) -> Iterator[Given]:
    """What each step from `first` on is given.

    Where they are made `ahead`, threads make the next ones meanwhile. That pays where the steps
    are computed by a device of its own; on processors the threads would only take their time.
    """

    def one(step: int, examples: Examples, numbers: np.ndarray) -> Given:
        batch = made.batch_of(step, examples, numbers)
        return Given(examples, numbers, examples.read(batch, numbers))

    steps = range(first, made.steps)
    if not ahead:
        for step in steps:
            yield one(step, *made.numbers(step))
        return
    coming = deque[Future[Given]]()
    with ThreadPoolExecutor(THREADS) as threads:
        for step in steps:
            coming.append(threads.submit(one, step, *made.numbers(step)))
            if len(coming) > THREADS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
