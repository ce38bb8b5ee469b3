"""From a question to what the network takes.

Shapes: B texts, T tokens; the batch is of one, but that of `stacked`.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from engine.messages.explore.text import Token
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tokenizers.tokenizer import Tokenizer

MAX_TOKENS = 512  # attention grows with the square, and no published BERT reads more


class Asked(Protocol):
    """Every question about a text or pair."""

    @property
    def text(self) -> str: ...
    @property
    def pair(self) -> str | None: ...
    @property
    def masked(self) -> tuple[int, ...]: ...


class Inputs(NamedTuple):
    """One text or pair as a batch of one."""

    described: tuple[Token, ...]  # as typed, also where a token is masked
    tokens: Tensor  # int64 [1, T]
    segments: Tensor  # int64 [1, T]
    masked: tuple[int, ...]  # token numbers that show the mask token, rising
    cut: bool


class Stacked(NamedTuple):
    """Several of them as a batch."""

    tokens: Tensor  # int64 [B, T]
    segments: Tensor  # int64 [B, T]
    attention_mask: Tensor | None  # bool [B, T]; None where all are of equal length


def stacked(checkpoint: Checkpoint, given: Sequence[Inputs]) -> Stacked:
    """These inputs with padding behind the shorter ones, on the model's device."""
    device = next(checkpoint.network.parameters()).device
    shape = len(given), max(one.tokens.size(1) for one in given)
    tokens = torch.full(shape, checkpoint.tokenizer.pad, device=device)
    segments, mask = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
    for row, one in enumerate(given):
        inside = row, slice(one.tokens.size(1))
        tokens[inside], segments[inside], mask[inside] = one.tokens[0], one.segments[0], True
    return Stacked(tokens, segments, None if mask.all() else mask)


def truncation_note(inputs: int, tokens: int) -> str:
    """What is said of inputs that have as many tokens as are read: most have more."""
    return phrase(
        "{n:,} input(s) with {tokens:,} tokens or more, of which only {tokens:,} are read.",
        n=inputs,
        tokens=tokens,
    )


def max_tokens(checkpoint: Checkpoint) -> int:
    """How many tokens of a text are read, at most."""
    return min(checkpoint.network.spec.max_positions, MAX_TOKENS)


def inputs(checkpoint: Checkpoint, question: Asked) -> Inputs:
    """What a question asks about."""
    return typed(checkpoint, question.text, question.pair, question.masked)


def typed(
    checkpoint: Checkpoint, text: str, pair: str | None, masked: tuple[int, ...] = ()
) -> Inputs:
    """Tokenise a text or pair and mask the tokens in `masked`; special ones are never masked."""
    tokenizer = checkpoint.tokenizer
    encoded = tokenizer.encode(text, pair, max_tokens(checkpoint))
    shown_masked = masked_positions(encoded.tokens, masked, tokenizer)
    device = next(checkpoint.network.parameters()).device
    tokens = torch.tensor([encoded.ids], device=device)
    tokens[0, list(shown_masked)] = tokenizer.mask
    segments = torch.tensor([encoded.segments], device=device)
    return Inputs(encoded.tokens, tokens, segments, shown_masked, encoded.cut)


def masked_positions(
    tokens: tuple[Token, ...], masked: tuple[int, ...], tokenizer: Tokenizer
) -> tuple[int, ...]:
    """Where [MASK] was typed, and the numbers in `masked` that are ordinary tokens."""
    wanted = set(masked)
    return tuple(
        number
        for number, token in enumerate(tokens)
        if token.id == tokenizer.mask or (number in wanted and not token.special)
    )
