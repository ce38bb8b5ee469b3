"""The batches of a run, one after another, and the next one while a device works on this one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from engine.tasks.learner import Batch, Examples
from engine.training.preparing import Material


class Given(NamedTuple):
    """What a step is given: its batch, and which of the examples it is made of, int64 [B]."""

    examples: Examples
    numbers: np.ndarray
    batch: Batch


def batches(made: Material, first: int, ahead: bool) -> Iterator[Given]:
    """What each step from `first` on is given.

    Where they are made `ahead`, a thread makes the next one meanwhile. That pays where the steps
    are computed by a device of its own; on processors the thread would only take their time.
    """

    def one(step: int) -> Given:
        examples, numbers = made.numbers(step)
        return Given(examples, numbers, examples.read(made.batch(step), numbers))

    steps = range(first, made.steps)
    if not ahead:
        yield from map(one, steps)
        return
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(one, first)
        for step in steps:
            found = coming.result()
            if step + 1 < made.steps:
                coming = thread.submit(one, step + 1)
            yield found
