"""Faithfulness of attributions; `CheckFaithfulness` in the messages has the definitions.

Shapes: N words.
"""

from collections.abc import Sequence

import numpy as np
import torch

from engine.errors import StudioError
from engine.explore.attribution import FORWARD_SLICE, scores_without
from engine.explore.targets import find_target, word_token_indices
from engine.messages.explore.attribution import CheckFaithfulness, Faithfulness, FaithfulnessChecked
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # fractions of the words (DeYoung et al. 2020, §4.2)
RANDOM_ORDERS = 20
SEED = 20  # the same random orders for every method


@torch.inference_mode()
def check(checkpoint: Checkpoint, question: CheckFaithfulness) -> FaithfulnessChecked:
    """The next inputs; the answer without `next` has the figures of all orders.

    Raises StudioError if `order` is not a permutation of the words, or there is no such logit.
    """
    target = find_target(checkpoint, question)
    words = word_token_indices(target.given)
    if sorted(question.order) != list(range(len(words))) or len(words) < 2:
        raise StudioError(
            phrase("This needs a text of at least two words that are not masked."),
            phrase("Type a longer text."),
        )
    orders = [question.order, *random_orders(len(words))]
    inputs = list(dict.fromkeys(one for order in orders for one in masks(order)))
    count = max(1, FORWARD_SLICE // len(target.given.described))
    now = inputs[question.start : question.start + count]
    hidden = [[number for word in sorted(one) for number in words[word]] for one in now]
    found = (
        *question.so_far[: question.start],
        *scores_without(checkpoint, target, hidden).tolist(),
    )
    score = target.explained.score
    if len(found) < len(inputs):
        return FaithfulnessChecked(
            to=question.number, scores=found, next=len(found), total=len(inputs)
        )
    known = dict(zip(inputs, found, strict=True))
    own, *random = (figures(order, known, score) for order in orders)
    return FaithfulnessChecked(
        to=question.number, own=own, random=tuple(random), scores=found, total=len(inputs)
    )


def random_orders(count: int) -> list[tuple[int, ...]]:
    """Twenty fixed random orders of N words."""
    rng = np.random.default_rng(SEED)
    return [tuple(rng.permutation(count).tolist()) for _ in range(RANDOM_ORDERS)]


def word_counts(count: int) -> tuple[int, ...]:
    """Number of words for each fraction of N, at least one."""
    return tuple(max(1, round(share * count)) for share in SHARES)


def masks(order: Sequence[int]) -> list[frozenset[int]]:
    """The sets of masked words for each fraction: the first ones, then all others."""
    found = []
    for count in word_counts(len(order)):
        found += [frozenset(order[:count]), frozenset(order[count:])]
    return found


def figures(order: Sequence[int], known: dict[frozenset[int], float], score: float) -> Faithfulness:
    """Means over the fractions, from the scores of all inputs."""
    found = masks(order)
    gone, alone = found[::2], found[1::2]
    return Faithfulness(
        comprehensiveness=score - float(np.mean([known[one] for one in gone])),
        sufficiency=score - float(np.mean([known[one] for one in alone])),
    )
