"""Pseudo-perplexity: probability of each token of a text at its position.

Shapes: T tokens, N positions, V vocabulary.
"""

import time

import torch
from torch import Tensor

from engine.explore.fill_mask import log_probabilities, mlm_head
from engine.messages.explore.pseudo_perplexity import ScoreTokens, TokenScore, TokensScored
from engine.messages.explore.text import LabelProbability
from engine.models.checkpoint import Checkpoint
from engine.tasks.inputs import Inputs, typed

SLICE = 512  # tokens per answer, so that the next question does not wait long


@torch.inference_mode()
def score(checkpoint: Checkpoint, question: ScoreTokens) -> TokensScored:
    """The next tokens from `start` on, each masked in turn while all others are shown.

    A left-to-right model predicts each token from those before it, all in one pass: this gives the
    usual perplexity.

    Raises StudioError if the model has no MLM head.
    """
    began = time.perf_counter()
    mlm_head(checkpoint)
    given = typed(checkpoint, question.text, question.pair)
    positions = [
        number
        for number, token in enumerate(given.described)
        if not token.special and number not in given.masked
    ]
    left = [position for position in positions if position >= question.start]
    causal = checkpoint.network.spec.is_causal
    now = left if causal else left[: max(1, SLICE // len(given.described))]
    logs = (_from_before if causal else _in_turn)(checkpoint, given, now)  # [N, V]
    return TokensScored(
        to=question.number,
        tokens=given.described,
        truncated=given.truncated,
        scores=tuple(
            token_score(checkpoint, row, position, given.described[position].id)
            for row, position in zip(logs, now, strict=True)
        ),
        next=left[len(now)] if len(left) > len(now) else None,
        total=len(positions),
        causal=causal,
        milliseconds=(time.perf_counter() - began) * 1000,
    )


def token_score(checkpoint: Checkpoint, row: Tensor, position: int, token_id: int) -> TokenScore:
    """Score of the token `token_id`, from the log-probabilities of all tokens, float [V]."""
    known = row[: checkpoint.tokenizer.size]
    best = known.max(0)
    return TokenScore(
        position=position,
        log_probability=float(row[token_id]),
        rank=int((known > row[token_id]).sum()) + 1,
        top=LabelProbability(
            label=checkpoint.tokenizer.token(int(best.indices)),
            probability=float(best.values.exp()),
        ),
    )


def _in_turn(checkpoint: Checkpoint, given: Inputs, positions: list[int]) -> Tensor:
    """Log-probabilities at positions that are masked one at a time, float [N, V]."""
    rows = torch.arange(len(positions), device=given.tokens.device)
    tokens = given.tokens.repeat(len(positions), 1)  # [N, T]
    tokens[rows, positions] = checkpoint.tokenizer.mask
    segments = given.segments.expand_as(tokens)
    masked = torch.tensor(positions, dtype=torch.long, device=tokens.device)[:, None]
    last = checkpoint.network.encode_at(tokens, segments, masked)[:, 0]  # [N, D]
    return log_probabilities(mlm_head(checkpoint)(last))


def _from_before(checkpoint: Checkpoint, given: Inputs, positions: list[int]) -> Tensor:
    """Log-probabilities at the position before each, float [N, V]."""
    last = checkpoint.network.encoder(given.tokens, given.segments).last[0]  # [T, D]
    return log_probabilities(mlm_head(checkpoint)(last[[position - 1 for position in positions]]))
