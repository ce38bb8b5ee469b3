"""Contribution of each word to a logit, and its faithfulness; the messages have the formulas.

Gradients need the plain network: the packed one, which answers faster, consists of library calls
without a backward pass. Shapes: B inputs, T tokens, E width of the token embeddings, N words, P
points of a path.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.errors import StudioError
from engine.explore.measures import iter_measure
from engine.explore.targets import Target, find_target, scores, word_token_indices
from engine.messages.explore.attribution import (
    MAX_POINTS,
    SUM_TOLERANCE,
    Attribute,
    Attributed,
    CheckFaithfulness,
    Faithfulness,
    FaithfulnessChecked,
    Method,
    WordEffect,
)
from engine.models.checkpoint import Checkpoint
from engine.tasks.finite import not_finite_error

FORWARD_SLICE = 4_096  # tokens per answer, so that the next question does not wait long
BACKWARD_SLICE = 512  # tokens per answer with gradients, which take three times as long
GRADIENTS: tuple[Method, ...] = ("integrated_gradients", "input_x_gradient")
FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)  # fractions of the words (DeYoung et al. 2020, §4.2)
RANDOM_ORDERS = 20
SEED = 20  # the same random orders for every method


def attribute(checkpoint: Checkpoint, question: Attribute) -> Attributed:
    """Compute the next part of the effects.

    For a method in GRADIENTS `checkpoint` must hold the plain network. Raises StudioError if there
    is no such logit.
    """
    with torch.no_grad():
        target = find_target(checkpoint, question)
        match question.method:
            case "occlusion":
                return _occlusion(checkpoint, question, target)
            case "rollout":
                return _rollout(checkpoint, question, target)
    if question.method == "input_x_gradient":
        return _input_x_gradient(checkpoint, question, target)
    return _integrated_gradients(checkpoint, question, target)


def scores_without(
    checkpoint: Checkpoint, target: Target, words: list[list[int]], max_tokens: int = FORWARD_SLICE
) -> Tensor:
    """The score with each list of tokens masked in turn: float [B] on the CPU."""
    parts = [torch.zeros(0)]
    rows = max(1, max_tokens // target.inputs.tokens.size(1))
    for first in range(0, len(words), rows):
        part = words[first : first + rows]
        tokens = target.inputs.tokens.repeat(len(part), 1)  # [B, T]
        for row, word in enumerate(part):
            tokens[row, word] = checkpoint.tokenizer.mask
        segments = target.inputs.segments.expand_as(tokens)
        parts.append(scores(checkpoint, target, tokens, segments).float().cpu())
    return torch.cat(parts)


def _occlusion(checkpoint: Checkpoint, question: Attribute, target: Target) -> Attributed:
    words = word_token_indices(target.inputs)
    batch = words[question.start :][: max(1, FORWARD_SLICE // len(target.inputs.records))]
    drops = target.explained.score - scores_without(checkpoint, target, batch)  # [N]
    effects = (*question.so_far[: question.start], *drops.tolist())
    done, points = len(effects), len(words)
    rest = done if done < points else None
    return _answer(question, target, words[:done], effects, done=done, points=points, next=rest)


def _rollout(checkpoint: Checkpoint, question: Attribute, target: Target) -> Attributed:
    """Attention from the token of the logit, in the last layer, to all tokens."""
    inputs = target.inputs
    *_, last = iter_measure(checkpoint.network, inputs, "rollout")
    causal = checkpoint.network.spec.is_causal
    if target.position is not None:
        row = target.position - (causal and target.is_token)
    else:
        row = len(inputs.records) - 1 if causal else 0
    if not torch.isfinite(last).all():
        raise not_finite_error()
    return _sum_by_word(question, target, last[0, row].float().cpu())


def _input_x_gradient(checkpoint: Checkpoint, question: Attribute, target: Target) -> Attributed:
    inputs = target.inputs
    vectors = _embed(checkpoint, inputs.tokens)  # [1, T, E]
    gradient = _gradients(checkpoint, target, vectors)
    return _sum_by_word(question, target, (vectors * gradient).sum(-1)[0].cpu())


def _integrated_gradients(
    checkpoint: Checkpoint, question: Attribute, target: Target
) -> Attributed:
    """Gauss–Legendre quadrature; the points are doubled until the sum is close enough."""
    inputs = target.inputs
    vectors, baseline = _embed(checkpoint, inputs.tokens), _baseline(checkpoint, question, target)
    points, weights = _points(question.points)
    count = max(1, BACKWARD_SLICE // len(inputs.records))
    batch = slice(question.start, question.start + count)
    point, weight = (torch.from_numpy(array[batch]).to(vectors) for array in (points, weights))
    path = baseline + point[:, None, None] * (vectors - baseline)  # [P, T, E]
    gradients = _gradients(checkpoint, target, path)
    effects = (weight[:, None, None] * gradients * (vectors - baseline)).sum((0, -1)).cpu()  # [T]
    if question.start:
        effects = effects + torch.tensor(question.so_far)
    with torch.no_grad(), _replace_embeddings(checkpoint, baseline):
        base_score = float(scores(checkpoint, target, inputs.tokens, inputs.segments))
    done = min(question.points, question.start + count)
    answer = _sum_by_word(question, target, effects).model_copy(
        update={"baseline_score": base_score, "done": done, "points": question.points}
    )
    if done < question.points:
        return answer.model_copy(update={"next": done})
    assert answer.difference is not None
    is_close = abs(answer.difference) <= SUM_TOLERANCE * abs(target.explained.score - base_score)
    if is_close or 2 * question.points > MAX_POINTS:
        return answer
    return answer.model_copy(update={"next": 0, "points": 2 * question.points})


def _points(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in (0, 1) and weights, which sum to 1: float64 [P] each."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return (points + 1) / 2, weights / 2


def _baseline(checkpoint: Checkpoint, question: Attribute, target: Target) -> Tensor:
    """The embeddings of the baseline, with every token of a word replaced, float [1, T, E]."""
    inputs, tokenizer = target.inputs, checkpoint.tokenizer
    words = [index for word in word_token_indices(inputs) for index in word]
    tokens = inputs.tokens.clone()
    tokens[0, words] = tokenizer.pad if question.baseline == "pad" else tokenizer.mask
    base = _embed(checkpoint, tokens)
    if question.baseline == "zero":
        base[0, words] = 0
    return base


def _embed(checkpoint: Checkpoint, tokens: Tensor) -> Tensor:
    """Detached rows of the token embedding, float [B, T, E]."""
    rows: Tensor = checkpoint.network.encoder.embeddings.token(tokens)
    return rows.detach().clone()


def _gradients(checkpoint: Checkpoint, target: Target, vectors: Tensor) -> Tensor:
    """Gradient of the score with respect to the token embeddings, float [B, T, E]."""
    inputs = target.inputs
    with torch.enable_grad():
        leaf = vectors.detach().requires_grad_()
        with _replace_embeddings(checkpoint, leaf):
            tokens = inputs.tokens.expand(len(leaf), -1)
            score = scores(checkpoint, target, tokens, inputs.segments.expand_as(tokens))
        (gradients,) = torch.autograd.grad(score.sum(), leaf)
    if not torch.isfinite(gradients).all():
        raise not_finite_error()
    return gradients


@contextmanager
def _replace_embeddings(checkpoint: Checkpoint, vectors: Tensor) -> Iterator[None]:
    """Feed `vectors` to the network instead of its token embeddings, float [B, T, E]."""
    token = checkpoint.network.encoder.embeddings.token
    hook = token.register_forward_hook(lambda *_: vectors)
    try:
        yield
    finally:
        hook.remove()


def _sum_by_word(question: Attribute, target: Target, effects: Tensor) -> Attributed:
    """Sum the effects of the tokens, float [T], over each word."""
    values, words = effects.tolist(), word_token_indices(target.inputs)
    word_effects = [sum(values[index] for index in word) for word in words]
    return _answer(question, target, words, word_effects, effects=tuple(values), done=1, points=1)


def _answer(
    question: Attribute,
    target: Target,
    words: Sequence[Sequence[int]],
    word_effects: Sequence[float],
    **fields: Any,
) -> Attributed:
    """Answer with the effects of words, each a list of token indices, and other `fields`."""
    tokens, items = target.inputs.records, []
    for word, effect in zip(words, word_effects, strict=True):
        start, end, segment = tokens[word[0]].start, tokens[word[-1]].end, tokens[word[0]].segment
        text = target.texts[segment][start:end]
        items.append(WordEffect(text=text, segment=segment, start=start, end=end, effect=effect))
    return Attributed(
        to=question.number, tokens=tokens, explained=target.explained, words=tuple(items), **fields
    )


@torch.inference_mode()
def check_faithfulness(checkpoint: Checkpoint, question: CheckFaithfulness) -> FaithfulnessChecked:
    """Score the next inputs; the answer without `next` has the measures of all orders.

    Raises StudioError if `order` is not a permutation of the words, or there is no such logit.
    """
    target = find_target(checkpoint, question)
    words = word_token_indices(target.inputs)
    if sorted(question.order) != list(range(len(words))) or len(words) < 2:
        raise StudioError(
            "This needs a text of at least two words that are not masked.", "Type a longer text."
        )
    orders = [question.order, *random_orders(len(words))]
    inputs = list(dict.fromkeys(masked for order in orders for masked in masked_sets(order)))
    count = max(1, FORWARD_SLICE // len(target.inputs.records))
    batch = inputs[question.start : question.start + count]
    tokens = [[index for word in sorted(masked) for index in words[word]] for masked in batch]
    results = (
        *question.so_far[: question.start],
        *scores_without(checkpoint, target, tokens).tolist(),
    )
    score = target.explained.score
    if len(results) < len(inputs):
        return FaithfulnessChecked(
            to=question.number, scores=results, next=len(results), total=len(inputs)
        )
    scores_by_input = dict(zip(inputs, results, strict=True))
    requested, *random = (_measures(order, scores_by_input, score) for order in orders)
    return FaithfulnessChecked(
        to=question.number, own=requested, random=tuple(random), scores=results, total=len(inputs)
    )


def random_orders(count: int) -> list[tuple[int, ...]]:
    """Twenty fixed random orders of N words."""
    rng = np.random.default_rng(SEED)
    return [tuple(rng.permutation(count).tolist()) for _ in range(RANDOM_ORDERS)]


def masked_sets(order: Sequence[int]) -> list[frozenset[int]]:
    """The masked words for each fraction: the first words of the order, then all others."""
    sets = []
    for fraction in FRACTIONS:
        count = max(1, round(fraction * len(order)))
        sets += [frozenset(order[:count]), frozenset(order[count:])]
    return sets


def _measures(
    order: Sequence[int], scores: dict[frozenset[int], float], score: float
) -> Faithfulness:
    """Means over the fractions, from the scores of all inputs."""
    sets = masked_sets(order)
    removed, remaining = sets[::2], sets[1::2]
    return Faithfulness(
        comprehensiveness=score - float(np.mean([scores[masked] for masked in removed])),
        sufficiency=score - float(np.mean([scores[masked] for masked in remaining])),
    )
