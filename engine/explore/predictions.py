"""What a checkpoint expects at masked places.

Shapes: T tokens, N masked places, D width, V vocabulary.
"""

import time

import torch
from torch import Tensor

from engine.errors import BadCheckpoint, StudioError
from engine.explore.inputs import Inputs, inputs
from engine.messages.answers import Filled, Guess, Likely
from engine.messages.questions import Fill
from engine.models.checkpoint import Checkpoint
from engine.models.heads import MaskedWordHead
from engine.phrases import phrase


@torch.inference_mode()
def fill(checkpoint: Checkpoint, question: Fill) -> Filled:
    """The likeliest pieces for each masked place; each place is guessed by itself.

    A left-to-right model guesses them one after the other, each from what stands before it.

    Raises StudioError where the model has no head for masked words.
    """
    began = time.perf_counter()
    network = checkpoint.network
    word_head(checkpoint)
    given = inputs(checkpoint, question)
    guesses: tuple[Guess, ...] = ()
    actual: tuple[Likely, ...] = ()
    if given.hidden:
        way = _left_to_right if network.spec.causal else _all_at_once
        probabilities = softmax(way(checkpoint, given))  # [N, V]
        guesses = ranked(checkpoint, probabilities, given.hidden, question.top)
        actual = tuple(
            _likely_actual(checkpoint, row, given.described[place].id)
            for row, place in zip(probabilities, given.hidden, strict=True)
        )
    return Filled(
        to=question.number,
        tokens=given.described,
        cut=given.cut,
        guesses=guesses,
        actual=actual,
        causal=network.spec.causal,
        milliseconds=(time.perf_counter() - began) * 1000,
    )


def _all_at_once(checkpoint: Checkpoint, given: Inputs) -> Tensor:
    """Logits at the hidden places, [N, V]."""
    network = checkpoint.network
    assert network.masked_words is not None
    places = torch.tensor([given.hidden], device=given.tokens.device)
    last = network.encoder.at(given.tokens, given.segments, places)[0]  # [N, D]
    logits: Tensor = network.masked_words(last)
    return logits


def _left_to_right(checkpoint: Checkpoint, given: Inputs) -> Tensor:
    """Logits at the place before each hidden one, [N, V]."""
    return _guessed_on(checkpoint, given)[1]


def seen(checkpoint: Checkpoint, given: Inputs) -> Tensor:
    """The tokens as the network is given them, int64 [1, T].

    A left-to-right model has never seen [MASK], so a hidden place shows its first guess.
    """
    causal = checkpoint.network.spec.causal and given.hidden
    return _guessed_on(checkpoint, given)[0] if causal else given.tokens


def _guessed_on(checkpoint: Checkpoint, given: Inputs) -> tuple[Tensor, Tensor]:
    """Tokens int64 [1, T] with guesses in the hidden places, and the logits of these, [N, V]."""
    network, tokens, head = checkpoint.network, given.tokens.clone(), word_head(checkpoint)
    found = []
    for place in given.hidden:
        last = network.encoder(tokens[:, :place], given.segments[:, :place]).last[0, -1]  # [D]
        found.append(head(last))
        tokens[0, place] = found[-1][: checkpoint.tokenizer.size].argmax()
    return tokens, torch.stack(found)


def word_head(checkpoint: Checkpoint) -> MaskedWordHead:
    """The head for masked words. Raises StudioError where the model has none."""
    head = checkpoint.network.masked_words
    if head is None:
        raise StudioError(
            phrase("This model has no head for masked words."),
            phrase("Choose one that was pre-trained with masked words, such as the starter model."),
        )
    return head


def logarithms(logits: Tensor) -> Tensor:
    """Natural logarithms of the probabilities along the last axis, float32, finite."""
    logs = logits.float().log_softmax(-1)
    if not torch.isfinite(logs).all():
        raise not_finite()
    return logs


def softmax(logits: Tensor) -> Tensor:
    """Probabilities along the last axis, float32; damaged weights are named, not shown."""
    probabilities = logits.float().softmax(-1)
    if not torch.isfinite(probabilities.sum()):  # one that is none makes the sum none
        raise not_finite()
    return probabilities


def not_finite() -> BadCheckpoint:
    return BadCheckpoint(
        phrase(
            "The model gives numbers that are not finite: it is damaged, or its training diverged."
        ),
        phrase("Use an earlier checkpoint."),
    )


def ranked(
    checkpoint: Checkpoint, probabilities: Tensor, places: tuple[int, ...], top: int
) -> tuple[Guess, ...]:
    """The best pieces of each row of float [N, V]; V may be larger than the vocabulary."""
    known = probabilities[:, : checkpoint.tokenizer.size]
    best = known.topk(max(1, min(top, known.size(1))), dim=1)
    piece = checkpoint.tokenizer.piece
    return tuple(
        Guess(
            first=place,
            last=place,
            ranked=tuple(
                Likely(label=piece(number), probability=value)
                for value, number in zip(values, numbers, strict=True)
            ),
        )
        for place, values, numbers in zip(
            places, best.values.tolist(), best.indices.tolist(), strict=True
        )
    )


def _likely_actual(checkpoint: Checkpoint, row: Tensor, token_id: int) -> Likely:
    """The piece that stood at a place; an empty label where [MASK] itself was typed."""
    if token_id == checkpoint.tokenizer.mask:
        return Likely(label="", probability=0)
    return Likely(label=checkpoint.tokenizer.piece(token_id), probability=float(row[token_id]))
