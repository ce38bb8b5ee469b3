"""Deterministic evaluation of a network on examples, batched by length.

On a CPU two threads each process whole batches instead of sharing every operation; see
`engine.training.gradients`.
"""

import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from engine.data.datasets.rows import Rows
from engine.models.checkpoint import Checkpoint
from engine.models.frozen_linear import low_precision_weights
from engine.models.network import Network
from engine.progress import ProgressCallback
from engine.tasks.learner import Examples, Learner, Metrics, PredictionCollector
from engine.tasks.rng import VALIDATION, rng_for
from engine.tokenizers.tokenizer import Tokenizer

Item = TypeVar("Item")
Precision = Callable[[], AbstractContextManager[object]]


def evaluate(
    network: Network,
    learner: Learner,
    tokenizer: Tokenizer,
    examples: Examples,
    batch_size: int,
    seed: int = 0,
    device: torch.device | None = None,
    precision: Precision = nullcontext,
    report: ProgressCallback = lambda done, total: None,
    micro_batch_size: int = 0,
    lockstep: bool = False,
) -> Metrics:
    """Evaluate a network on `examples`; random masking is the same every time.

    Args:
        micro_batch_size: examples computed at a time; 0: the whole batch.
        lockstep: other processes must run the same batches in the same order.
    """
    network.eval()
    metrics = learner.make_metrics(examples)
    batches = batches_by_length(examples.lengths, batch_size)
    device = device or torch.device("cpu")

    def add(index: int) -> None:
        indices = batches[index]
        rng = rng_for(seed, VALIDATION, index)
        batch = examples.add_vectors(learner.batch(examples, indices, tokenizer, rng), indices)
        batch = batch._replace(indices=torch.from_numpy(indices))
        for part in batch.parts(micro_batch_size):
            part = part if part.attention_mask is None else part.plan(network)
            network(metrics.add, part.to(device))

    longest_first = range(len(batches))[::-1]
    with nullcontext() if lockstep else low_precision_weights(network, precision):
        for_each(longest_first, add, precision, report, not lockstep and uses_two_threads(device))
    return metrics


def uses_two_threads(device: torch.device) -> bool:
    """True if two threads, each with half of the cores, are faster."""
    return device.type == "cpu" and torch.get_num_threads() > 1


def for_each(
    items: Sequence[Item],
    do: Callable[[Item], None],
    precision: Precision,
    report: ProgressCallback,
    parallel: bool,
) -> None:
    """Run `do` without gradients on all items, and report progress on this thread.

    An error in either thread stops both after the items in progress.
    """
    threads, parallel = torch.get_num_threads(), parallel and len(items) > 1
    pending, done = iter(items), list[Item]()

    def work(on_done: Callable[[], None]) -> None:
        torch.set_num_threads(threads // 2 if parallel else threads)  # of the calling thread
        try:
            with torch.inference_mode(), precision():
                for item in pending:
                    do(item)
                    done.append(item)
                    on_done()
        finally:
            deque(pending, maxlen=0)  # after an error, leave nothing for the other thread

    try:
        with ThreadPoolExecutor(1) as executor:
            second = executor.submit(work, lambda: None) if parallel else None
            work(lambda: report(len(done), len(items)))
            if second is not None:
                second.result()
                report(len(done), len(items))
    finally:
        torch.set_num_threads(threads)


def batches_by_length(lengths: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Batches for an evaluation: each example once, sorted by length."""
    order = np.argsort(lengths, kind="stable")
    return [order[i : i + batch_size] for i in range(0, len(order), batch_size)]


def collect_predictions(
    loaded: Checkpoint,
    learner: Learner,
    rows: Rows,
    max_length: int,
    batch_size: int = 8,
    progress: ProgressCallback = lambda done, total: None,
    on_tokenized: Callable[[Examples], object] | None = None,
) -> PredictionCollector:
    """Predict rows with a loaded model; `learner` belongs to its task head.

    `on_tokenized` receives the tokenized examples.
    """
    network, tokenizer = loaded.network, loaded.tokenizer
    device = next(network.parameters()).device
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        folder = Path(scratch) / "tokenized"
        examples = learner.tokenize(rows, tokenizer, max_length, folder, lambda done, total: None)
        if on_tokenized is not None:
            on_tokenized(examples)
        metrics = evaluate(
            network, learner, tokenizer, examples, batch_size, device=device, report=progress
        )
    assert isinstance(metrics, PredictionCollector)
    return metrics
