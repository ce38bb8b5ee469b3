"""How likely every piece of a text is in its place, and whether a second text follows a first.

Shapes: T tokens, N places, V vocabulary.
"""

import time

import torch
from torch import Tensor

from engine.errors import StudioError
from engine.explore.inputs import Inputs, inputs, typed
from engine.explore.predictions import logarithms, softmax, word_head
from engine.messages.answers import Followed, Likely, PositionScore, Scored
from engine.messages.questions import Follow, Score
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase

SLICE = 512  # tokens that one answer reads; so that the next question never waits long


@torch.inference_mode()
def score(checkpoint: Checkpoint, question: Score) -> Scored:
    """The next places from `start` on, each hidden in turn while all others are shown.

    A left-to-right model has each piece guessed from those before it, all in one pass: its
    perplexity is the common one, and no pseudo-perplexity.

    Raises StudioError where the model has no head for masked words.
    """
    began = time.perf_counter()
    word_head(checkpoint)
    given = typed(checkpoint, question.text, question.pair)
    places = [
        number
        for number, token in enumerate(given.described)
        if not token.special and number not in given.hidden
    ]
    left = [place for place in places if place >= question.start]
    causal = checkpoint.network.spec.causal
    now = left if causal else left[: max(1, SLICE // len(given.described))]
    logs = (_from_before if causal else _in_turn)(checkpoint, given, now)  # [N, V]
    return Scored(
        to=question.number,
        tokens=given.described,
        cut=given.cut,
        places=tuple(
            place_score(checkpoint, row, place, given.described[place].id)
            for row, place in zip(logs, now, strict=True)
        ),
        next=left[len(now)] if len(left) > len(now) else None,
        total=len(places),
        causal=causal,
        milliseconds=(time.perf_counter() - began) * 1000,
    )


def place_score(checkpoint: Checkpoint, row: Tensor, place: int, token_id: int) -> PositionScore:
    """The piece `token_id` among the logarithms of all pieces, float [V]."""
    known = row[: checkpoint.tokenizer.size]
    best = known.max(0)
    return PositionScore(
        place=place,
        logarithm=float(row[token_id]),
        rank=int((known > row[token_id]).sum()) + 1,
        best=Likely(
            label=checkpoint.tokenizer.piece(int(best.indices)),
            probability=float(best.values.exp()),
        ),
    )


def _in_turn(checkpoint: Checkpoint, given: Inputs, places: list[int]) -> Tensor:
    """Logarithms at places that are hidden one at a time, float [N, V]."""
    rows = torch.arange(len(places), device=given.tokens.device)
    tokens = given.tokens.repeat(len(places), 1)  # [N, T]
    tokens[rows, places] = checkpoint.tokenizer.mask
    segments = given.segments.expand_as(tokens)
    hidden = torch.tensor(places, dtype=torch.long, device=tokens.device)[:, None]
    last = checkpoint.network.encoder.at(tokens, segments, hidden)[:, 0]  # [N, D]
    return logarithms(word_head(checkpoint)(last))


def _from_before(checkpoint: Checkpoint, given: Inputs, places: list[int]) -> Tensor:
    """Logarithms at the place before each, float [N, V]."""
    last = checkpoint.network.encoder(given.tokens, given.segments).last[0]  # [T, D]
    return logarithms(word_head(checkpoint)(last[[place - 1 for place in places]]))


@torch.inference_mode()
def follow(checkpoint: Checkpoint, question: Follow) -> Followed:
    """The probability that the second text follows the first.

    Raises StudioError where there is no second text, or the model was not trained for this.
    """
    began = time.perf_counter()
    network = checkpoint.network
    if network.next_sentence is None:
        raise StudioError(
            phrase("This model has no head for the next sentence."),
            phrase("Choose one that was pre-trained with it, as Google's BERT was."),
        )
    if not (question.pair or "").strip():
        raise StudioError(
            phrase("There is no second text."),
            phrase("Add one, to see whether it follows the first."),
        )
    given = inputs(checkpoint, question)
    pooled = network.encoder.pooled(given.tokens, given.segments)
    return Followed(
        to=question.number,
        probability=float(softmax(network.next_sentence(pooled))[0, 0]),
        milliseconds=(time.perf_counter() - began) * 1000,
    )
