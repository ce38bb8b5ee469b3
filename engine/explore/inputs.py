"""From a question to what the network takes.

Shapes: T tokens; the batch is always of one.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from engine.data.tokenizer import Tokenizer
from engine.messages import Attend, Fill, Predict, Token
from engine.models.checkpoint import Checkpoint

LONGEST = 512  # tokens; attention grows with the square, and no published BERT reads more


class Inputs(NamedTuple):
    """One text or pair as a batch of one."""

    described: tuple[Token, ...]  # as typed, also where a piece is hidden
    tokens: Tensor  # int64 [1, T]
    segments: Tensor  # int64 [1, T]
    hidden: tuple[int, ...]  # token numbers that show the mask token, rising
    cut: bool


def inputs(checkpoint: Checkpoint, question: Fill | Attend | Predict) -> Inputs:
    """Tokenise a question's text and hide what it wants hidden; special tokens are never hidden."""
    tokenizer = checkpoint.tokenizer
    longest = min(checkpoint.network.spec.positions, LONGEST)
    encoded = tokenizer.encode(question.text, question.pair, longest)
    hidden = hidden_places(encoded.tokens, question.masked, tokenizer)
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
