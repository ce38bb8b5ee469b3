"""Network inputs for typed texts.

Shapes: B texts, T tokens; B is 1 except in `stack_inputs`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engine.messages.explore.text import TextQuestion, Token
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase

MAX_TOKENS = 512  # attention is quadratic, and no published BERT reads more


class Inputs(NamedTuple):
    """One text or pair as a batch of one."""

    records: tuple[Token, ...]  # as typed, before masking
    tokens: Tensor  # int64 [1, T]
    segments: Tensor  # int64 [1, T]
    masked: tuple[int, ...]  # indices of masked tokens, ascending
    truncated: bool


class InputBatch(NamedTuple):
    """Several inputs as a batch."""

    tokens: Tensor  # int64 [B, T]
    segments: Tensor  # int64 [B, T]
    attention_mask: Tensor | None  # bool [B, T]; None if all have the same length


def stack_inputs(checkpoint: Checkpoint, inputs: Sequence[Inputs]) -> InputBatch:
    """Batch inputs, with padding, on the model's device."""
    device = next(checkpoint.network.parameters()).device
    shape = len(inputs), max(text.tokens.size(1) for text in inputs)
    tokens = torch.full(shape, checkpoint.tokenizer.pad, device=device)
    segments, mask = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
    for row, text in enumerate(inputs):
        region = row, slice(text.tokens.size(1))
        tokens[region], segments[region], mask[region] = text.tokens[0], text.segments[0], True
    return InputBatch(tokens, segments, None if mask.all() else mask)


def truncation_note(inputs: int, tokens: int) -> str:
    return phrase(
        "{n:,} input(s) with {tokens:,} tokens or more, truncated to {tokens:,} tokens.",
        n=inputs,
        tokens=tokens,
    )


def max_tokens(checkpoint: Checkpoint) -> int:
    return min(checkpoint.max_length, MAX_TOKENS)


def encode_question(checkpoint: Checkpoint, question: TextQuestion) -> Inputs:
    return encode_text(checkpoint, question.text, question.pair, question.masked)


def encode_text(
    checkpoint: Checkpoint, text: str, pair: str | None, masked: tuple[int, ...] = ()
) -> Inputs:
    """Tokenize a text or pair and mask the tokens in `masked`, except special ones."""
    tokenizer = checkpoint.tokenizer
    encoded = tokenizer.encode(text, pair, max_tokens(checkpoint))
    # typed masks, and the requested tokens that are ordinary ones
    masked_indices = tuple(
        index
        for index, token in enumerate(encoded.tokens)
        if token.id == tokenizer.mask_id or (index in masked and not token.special)
    )
    device = next(checkpoint.network.parameters()).device
    tokens = torch.tensor([encoded.ids], device=device)
    if masked_indices:
        tokens[0, list(masked_indices)] = tokenizer.mask
    segments = torch.tensor([encoded.segments], device=device)
    return Inputs(encoded.tokens, tokens, segments, masked_indices, encoded.truncated)
