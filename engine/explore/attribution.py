"""Contribution of each word to a logit; `Attribute` in the messages has the formulas.

Gradients are computed by the plain network: the packed one, which answers faster, consists of
library calls without a backward pass, and raises an error. Shapes: B inputs, T tokens, E width of
the token embeddings, N words, P points of a path.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from engine.explore.layers import steps
from engine.explore.measures import iter_measure
from engine.explore.targets import Target, find_target, scores, word_token_indices
from engine.messages.explore.attribution import (
    CLOSE_ENOUGH,
    MAX_POINTS,
    Attribute,
    Attributed,
    Method,
)
from engine.messages.explore.occlusion import WordEffect
from engine.models.checkpoint import Checkpoint
from engine.tasks.finite import not_finite

FORWARD_SLICE = 4_096  # tokens per answer, so that the next question does not wait long
BACKWARD_SLICE = 512  # tokens per answer with gradients, which take three times as long
GRADIENTS: tuple[Method, ...] = ("integrated_gradients", "input_x_gradient")


def attribute(checkpoint: Checkpoint, question: Attribute) -> Attributed:
    """The next part of the effects.

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
    checkpoint: Checkpoint, target: Target, words: list[list[int]], at_once: int = FORWARD_SLICE
) -> Tensor:
    """The score with each list of tokens masked in turn: float [B] on the CPU."""
    found = [torch.zeros(0)]
    rows = max(1, at_once // target.given.tokens.size(1))
    for first in range(0, len(words), rows):
        part = words[first : first + rows]
        tokens = target.given.tokens.repeat(len(part), 1)  # [B, T]
        for row, word in enumerate(part):
            tokens[row, word] = checkpoint.tokenizer.mask
        segments = target.given.segments.expand_as(tokens)
        found.append(scores(checkpoint, target, tokens, segments).float().cpu())
    return torch.cat(found)


def word_effect(target: Target, word: list[int], effect: float) -> WordEffect:
    """A word of the typed texts and its effect."""
    first, last = (target.given.described[word[place]] for place in (0, -1))
    text = target.texts[first.segment][first.start : last.end]
    return WordEffect(
        text=text, segment=first.segment, start=first.start, end=last.end, effect=effect
    )


def _occlusion(checkpoint: Checkpoint, question: Attribute, target: Target) -> Attributed:
    words = word_token_indices(target.given)
    now = words[question.start :][: max(1, FORWARD_SLICE // len(target.given.described))]
    falls = target.explained.score - scores_without(checkpoint, target, now)  # [N]
    effects = (*question.so_far[: question.start], *falls.tolist())
    answer = Attributed(
        to=question.number,
        tokens=target.given.described,
        truncated=target.given.truncated,
        explained=target.explained,
        words=tuple(
            word_effect(target, word, effect)
            for word, effect in zip(words[: len(effects)], effects, strict=True)
        ),
        done=len(effects),
        points=len(words),
    )
    return answer.model_copy(update={"next": len(effects) if len(effects) < len(words) else None})


def _rollout(checkpoint: Checkpoint, question: Attribute, target: Target) -> Attributed:
    """Attention from the token of the logit, in the last layer, to all tokens."""
    given = target.given
    *_, last = iter_measure(steps(checkpoint.network, given), "rollout")
    causal = checkpoint.network.spec.is_causal
    if target.position is not None:
        row = target.position - (causal and target.is_token)
    else:
        row = len(given.described) - 1 if causal else 0
    if not torch.isfinite(last).all():
        raise not_finite()
    return _summed(question, target, last[0, row].float().cpu())


def _input_x_gradient(checkpoint: Checkpoint, question: Attribute, target: Target) -> Attributed:
    given = target.given
    vectors = _embedded(checkpoint, given.tokens)  # [1, T, E]
    gradient = _gradients(checkpoint, target, vectors)
    return _summed(question, target, (vectors * gradient).sum(-1)[0].cpu())


def _integrated_gradients(
    checkpoint: Checkpoint, question: Attribute, target: Target
) -> Attributed:
    """Gauss–Legendre quadrature; the points are doubled until the sum is close enough."""
    given = target.given
    vectors, base = _embedded(checkpoint, given.tokens), _baseline(checkpoint, question, target)
    places, shares = _points(question.points)
    count = max(1, BACKWARD_SLICE // len(given.described))
    now = slice(question.start, question.start + count)
    place, share = (torch.from_numpy(each[now]).to(vectors) for each in (places, shares))
    along = base + place[:, None, None] * (vectors - base)  # [P, T, E]
    gradients = _gradients(checkpoint, target, along)
    effects = (share[:, None, None] * gradients * (vectors - base)).sum((0, -1)).cpu()  # [T]
    if question.start:
        effects = effects + torch.tensor(question.so_far)
    with torch.no_grad(), _reading(checkpoint, base):
        base_score = float(scores(checkpoint, target, given.tokens, given.segments))
    upto = min(question.points, question.start + count)
    answer = _summed(question, target, effects).model_copy(
        update={"baseline_score": base_score, "done": upto, "points": question.points}
    )
    if upto < question.points:
        return answer.model_copy(update={"next": upto})
    assert answer.difference is not None
    is_close = abs(answer.difference) <= CLOSE_ENOUGH * abs(target.explained.score - base_score)
    if is_close or 2 * question.points > MAX_POINTS:
        return answer
    return answer.model_copy(update={"next": 0, "points": 2 * question.points})


def _points(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in (0, 1) and weights, which sum to 1: float64 [P] each."""
    places, shares = np.polynomial.legendre.leggauss(count)
    return (places + 1) / 2, shares / 2


def _baseline(checkpoint: Checkpoint, question: Attribute, target: Target) -> Tensor:
    """The embeddings of the baseline, with every token of a word replaced, float [1, T, E]."""
    given, tokenizer = target.given, checkpoint.tokenizer
    words = [number for word in word_token_indices(given) for number in word]
    tokens = given.tokens.clone()
    tokens[0, words] = tokenizer.pad if question.baseline == "pad" else tokenizer.mask
    base = _embedded(checkpoint, tokens)
    if question.baseline == "zero":
        base[0, words] = 0
    return base


def _embedded(checkpoint: Checkpoint, tokens: Tensor) -> Tensor:
    """Detached rows of the token embedding, float [B, T, E]."""
    rows: Tensor = checkpoint.network.encoder.embeddings.token(tokens)
    return rows.detach().clone()


def _gradients(checkpoint: Checkpoint, target: Target, vectors: Tensor) -> Tensor:
    """Gradient of the score with respect to the token embeddings, float [B, T, E]."""
    given = target.given
    with torch.enable_grad():
        read = vectors.detach().requires_grad_()
        with _reading(checkpoint, read):
            tokens = given.tokens.expand(len(read), -1)
            score = scores(checkpoint, target, tokens, given.segments.expand_as(tokens))
        (found,) = torch.autograd.grad(score.sum(), read)
    if not torch.isfinite(found).all():
        raise not_finite()
    return found


@contextmanager
def _reading(checkpoint: Checkpoint, vectors: Tensor) -> Iterator[None]:
    """Feed these to the network in place of its token embeddings, float [B, T, E]."""
    token = checkpoint.network.encoder.embeddings.token
    hook = token.register_forward_hook(lambda *_: vectors)
    try:
        yield
    finally:
        hook.remove()


def _summed(question: Attribute, target: Target, effects: Tensor) -> Attributed:
    """Sum the effects of the tokens, float [T], over each word."""
    numbers = effects.tolist()
    return Attributed(
        to=question.number,
        tokens=target.given.described,
        truncated=target.given.truncated,
        explained=target.explained,
        words=tuple(
            word_effect(target, word, sum(numbers[number] for number in word))
            for word in word_token_indices(target.given)
        ),
        effects=tuple(numbers),
        done=1,
        points=1,
    )
