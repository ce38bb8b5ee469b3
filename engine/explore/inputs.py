"""From a question to what the network takes.

Shapes: T tokens; the batch is always of one.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from engine.messages.answers import Token
from engine.models.checkpoint import Checkpoint
from engine.tokenizers.tokenizer import Tokenizer

LONGEST = 512  # tokens; attention grows with the square, and no published BERT reads more


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

    described: tuple[Token, ...]  # as typed, also where a piece is hidden
    tokens: Tensor  # int64 [1, T]
    segments: Tensor  # int64 [1, T]
    hidden: tuple[int, ...]  # token numbers that show the mask token, rising
    cut: bool


def longest(checkpoint: Checkpoint) -> int:
    """How many tokens are looked at, at the most."""
    return min(checkpoint.network.spec.max_positions, LONGEST)


def inputs(checkpoint: Checkpoint, question: Asked) -> Inputs:
    """What a question asks about."""
    return typed(checkpoint, question.text, question.pair, question.masked)


def typed(
    checkpoint: Checkpoint, text: str, pair: str | None, masked: tuple[int, ...] = ()
) -> Inputs:
    """Tokenise a text or pair and hide the tokens in `masked`; special ones are never hidden."""
    tokenizer = checkpoint.tokenizer
    encoded = tokenizer.encode(text, pair, longest(checkpoint))
    hidden = hidden_places(encoded.tokens, masked, tokenizer)
    device = next(checkpoint.network.parameters()).device
    tokens = torch.tensor([encoded.ids], device=device)
    tokens[0, list(hidden)] = tokenizer.mask
    segments = torch.tensor([encoded.segments], device=device)
    return Inputs(encoded.tokens, tokens, segments, hidden, encoded.cut)


def hidden_places(
    tokens: tuple[Token, ...], masked: tuple[int, ...], tokenizer: Tokenizer
) -> tuple[int, ...]:
    """Where [MASK] was typed, and the numbers in `masked` that are ordinary tokens."""
    wanted = set(masked)
    return tuple(
        number
        for number, token in enumerate(tokens)
        if token.id == tokenizer.mask or (number in wanted and not token.special)
    )
