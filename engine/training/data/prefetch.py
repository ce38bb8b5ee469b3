"""Batches of a run, built on the host; for a GPU, threads build them ahead."""

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
    """A batch, and the examples and indices, int64 [B], from which it was built."""

    examples: Examples
    indices: np.ndarray
    batch: Batch


def batches(
    data: TrainingData, first_step: int, prefetch: bool = False, plan_network: Network | None = None
) -> Iterator[StepInput]:
    """Yield the input of each step from `first_step` on.

    With `prefetch`, threads build the next batches, and their unpadded plans for `plan_network`.
    This helps on a GPU only; on a CPU the threads compete with the step.
    """

    def build(step: int, examples: Examples, indices: np.ndarray) -> StepInput:
        batch = examples.add_vectors(data.build_batch(step, examples, indices), indices)
        if plan_network is not None:
            batch = batch.plan(plan_network)
        return StepInput(examples, indices, batch)

    steps = range(first_step, data.steps)
    if not prefetch:
        for step in steps:
            yield build(step, *data.examples_at(step))
        return
    pending = deque[Future[StepInput]]()
    with ThreadPoolExecutor(PREFETCH_THREADS) as threads:
        for step in steps:
            pending.append(threads.submit(build, step, *data.examples_at(step)))
            if len(pending) > PREFETCH_THREADS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
