"""A network at work on examples, those of a length together, with no chance in it.

On a processor two threads go through a batch each, instead of sharing out every operation of one;
see `engine.training.gradients` for what that saves.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import numpy as np
import torch

from engine.data.tokenizer import Tokenizer
from engine.models.network import Network
from engine.tasks.chance import DEV, chance
from engine.tasks.learner import Examples, Learner, Tally

Item = TypeVar("Item")


def judge(
    network: Network,
    learner: Learner,
    tokenizer: Tokenizer,
    examples: Examples,
    batch: int,
    seed: int = 0,
    device: torch.device | None = None,
    precision: Callable[[], AbstractContextManager[object]] = nullcontext,
    report: Callable[[int, int], None] = lambda done, total: None,
    at_once: int = 0,
    together: bool = False,
) -> Tally:
    """What a network does on `examples`; where a task needs chance, the same every time.

    Args:
        at_once: examples of a batch that are computed at a time; 0: all.
        together: whether other processes go through the same batches at the same time.
    """
    network.eval()
    tally = learner.tally(examples)
    batches = in_turn(examples.lengths, batch)
    device = device or torch.device("cpu")

    def add(number: int) -> None:
        numbers = batches[number]
        random = chance(seed, DEV, number)
        one = examples.read(learner.batch(examples, numbers, tokenizer, random), numbers)
        one = one._replace(numbers=torch.from_numpy(numbers))
        with torch.inference_mode(), precision():
            for part in one.parts(at_once):
                network(tally.add, part.to(device))

    longest_first = range(len(batches))[::-1]
    for_each(longest_first, add, 1 if together else batches_at_a_time(device), report)
    return tally


def batches_at_a_time(device: torch.device) -> int:
    """How many batches are best computed at a time, each by a share of the threads."""
    return 2 if device.type == "cpu" and torch.get_num_threads() > 1 else 1


def for_each(
    items: Sequence[Item],
    do: Callable[[Item], None],
    at_a_time: int,
    report: Callable[[int, int], None],
) -> None:
    """Do something with all items, so many at a time, and say after each how many are done."""
    at_a_time = min(at_a_time, len(items)) or 1
    threads = torch.get_num_threads()
    share = max(1, threads // at_a_time)
    workers = ThreadPoolExecutor(at_a_time, initializer=torch.set_num_threads, initargs=(share,))
    try:
        results = workers.map(do, items) if at_a_time > 1 else map(do, items)
        for done, _ in enumerate(results, start=1):
            report(done, len(items))
    finally:
        workers.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # some libraries keep one number for all threads


def in_turn(lengths: np.ndarray, batch: int) -> list[np.ndarray]:
    """Batches for judging: each example once, those of a length together, no chance in it."""
    order = np.argsort(lengths, kind="stable")
    return [order[i : i + batch] for i in range(0, len(order), batch)]
