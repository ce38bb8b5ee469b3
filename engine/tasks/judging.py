"""A network at work on examples, from the shortest to the longest, with no chance in it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch

from engine.data.tokenizer import Tokenizer
from engine.models.network import Network
from engine.tasks.chance import DEV, chance
from engine.tasks.learner import Examples, Learner, Tally


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
) -> Tally:
    """What a network does on `examples`; where a task needs chance, the same every time."""
    network.eval()
    tally = learner.tally(examples)
    batches = in_turn(examples.lengths, batch)
    with torch.inference_mode(), precision():
        for number, numbers in enumerate(batches):
            random = chance(seed, DEV, number)
            one = examples.read(learner.batch(examples, numbers, tokenizer, random), numbers)
            one = one._replace(numbers=torch.from_numpy(numbers))
            network(tally.add, one if device is None else one.to(device))
            report(number + 1, len(batches))
    return tally


def in_turn(lengths: np.ndarray, batch: int) -> list[np.ndarray]:
    """Batches for judging: each example once, those of a length together, no chance in it."""
    order = np.argsort(lengths, kind="stable")
    return [order[i : i + batch] for i in range(0, len(order), batch)]
