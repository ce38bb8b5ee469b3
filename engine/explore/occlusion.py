"""Which words decided what a fine-tuned model predicts, by masking one at a time.

Shapes: N words of an input, B of them at once, T tokens, C outputs.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from engine.errors import StudioError
from engine.messages.explore.occlusion import Occlude, Occluded, WordEffect
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.spec.task import CHOICES
from engine.spec.tasks import head_of
from engine.tasks import learner_of
from engine.tasks.finite import finite
from engine.tasks.inputs import Inputs, typed

SLICE = 4_096  # tokens that one answer reads, so that the next question never waits long


class Explained(NamedTuple):
    """An input and the output of the network that is predicted for it."""

    given: Inputs
    texts: tuple[str, str]
    output: int
    label: str
    score: float


@torch.inference_mode()
def occlude(checkpoint: Checkpoint, question: Occlude) -> Occluded:
    """The next words from `start` on; special tokens, and [MASK] that was typed, stay.

    Raises StudioError where the model predicts nothing, or says no single score.
    """
    found = _explained(checkpoint, question)
    words = words_of(found.given)
    left = words[question.start :]
    now = left[: max(1, SLICE // len(found.given.described))]
    scores = _without(checkpoint, found, now)  # [B]
    upto = question.start + len(now)
    return Occluded(
        to=question.number,
        tokens=found.given.described,
        cut=found.given.cut,
        words=tuple(
            _effect(found, word, found.score - score)
            for word, score in zip(now, scores.tolist(), strict=True)
        ),
        label=found.label,
        score=found.score,
        next=upto if upto < len(words) else None,
        total=len(words),
    )


def words_of(given: Inputs) -> list[list[int]]:
    """The numbers of the tokens of each word, in the order of the input."""
    words: dict[tuple[int, int], list[int]] = {}
    for number, token in enumerate(given.described):
        if not token.special and token.word is not None and number not in given.masked:
            words.setdefault((token.segment, token.word), []).append(number)
    return list(words.values())


def _explained(checkpoint: Checkpoint, question: Occlude) -> Explained:
    learner = learner_of(checkpoint)
    if learner is None:
        raise StudioError(
            phrase("This model has not been fine-tuned: it has no task head."),
            phrase("Choose a fine-tuned model."),
        )
    head = head_of(learner.task.kind)
    if head.reads_tokens:
        raise StudioError(
            phrase(
                "No words are shown: this model scores every token, so there is no single score "
                "that a word could change."
            )
        )
    if head.architecture == CHOICES:
        return _choice(checkpoint, question)
    given = typed(checkpoint, question.text, question.pair, question.masked)
    logits = _logits(checkpoint, given.tokens, given.segments)[0]  # [C]
    output = int(logits.argmax())
    if question.label:
        if question.label not in learner.labels:
            raise StudioError(
                phrase("This model does not know the class “{label}”.", label=question.label),
                phrase("Choose one of its classes."),
            )
        output = learner.labels.index(question.label)
    label = learner.labels[output] if learner.labels else ""
    texts = question.text, question.pair or ""
    return Explained(given, texts, output, label, float(logits[output]))


def _choice(checkpoint: Checkpoint, question: Occlude) -> Explained:
    """The choice with the highest score, as the second text of its own input."""
    choices = [choice.strip() for choice in question.endings if choice.strip()]
    if len(choices) < 2:
        raise StudioError(
            phrase("This model picks one of several choices."),
            phrase("Type at least two choices."),
        )
    best: Explained | None = None
    for choice in choices:
        pair = f"{question.pair or ''} {choice}".strip()
        given = typed(checkpoint, question.text, pair)
        score = float(_logits(checkpoint, given.tokens, given.segments)[0, 0])
        if best is None or score > best.score:
            best = Explained(given, (question.text, pair), 0, choice, score)
    assert best is not None
    return best


def _without(checkpoint: Checkpoint, found: Explained, words: list[list[int]]) -> Tensor:
    """The score while each of these words is masked, float [B]."""
    if not words:
        return torch.zeros(0)
    tokens = found.given.tokens.repeat(len(words), 1)  # [B, T]
    for row, word in enumerate(words):
        tokens[row, word] = checkpoint.tokenizer.mask
    segments = found.given.segments.expand_as(tokens)
    return _logits(checkpoint, tokens, segments)[:, found.output]


def _logits(checkpoint: Checkpoint, tokens: Tensor, segments: Tensor) -> Tensor:
    """float [B, C]"""
    return finite(checkpoint.network.logits(tokens, segments)).cpu()


def _effect(found: Explained, word: list[int], effect: float) -> WordEffect:
    first, last = (found.given.described[word[place]] for place in (0, -1))
    text = found.texts[first.segment][first.start : last.end]
    return WordEffect(
        text=text, segment=first.segment, start=first.start, end=last.end, effect=effect
    )
