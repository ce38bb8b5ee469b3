"""Probability of each token of a text, masked in turn or after each layer (the logit lens).

Shapes: T tokens, N positions, D hidden size, L layers, V vocabulary.
"""

import torch
from torch import Tensor

from engine.errors import StudioError
from engine.explore.fill_mask import log_probabilities, mlm_head, rank_tokens, shown_tokens
from engine.messages.explore.text import LabelProbability
from engine.messages.explore.token_scores import (
    ApplyLens,
    LensApplied,
    LensLayer,
    ScoreTokens,
    TokenScore,
    TokensScored,
)
from engine.models.checkpoint import Checkpoint
from engine.tasks.inputs import Inputs, encode_question, encode_text

SLICE = 512  # tokens per answer, so that the next question does not wait long
MAX_POSITIONS = 24


@torch.inference_mode()
def score(checkpoint: Checkpoint, question: ScoreTokens) -> TokensScored:
    """Score the next tokens from `start` on, each masked in turn while all others are shown.

    A left-to-right model predicts each token from those before it, all in one pass: this gives the
    usual perplexity.

    Raises StudioError if the model has no MLM head.
    """
    mlm_head(checkpoint)
    inputs = encode_text(checkpoint, question.text, question.pair)
    positions = [
        index
        for index, token in enumerate(inputs.records)
        if not token.special and index not in inputs.masked
    ]
    remaining = [position for position in positions if position >= question.start]
    causal = checkpoint.network.spec.is_causal
    batch = remaining if causal else remaining[: max(1, SLICE // len(inputs.records))]
    logs = (_score_causal if causal else _score_masked)(checkpoint, inputs, batch)  # [N, V]
    return TokensScored(
        to=question.number,
        scores=tuple(
            token_score(checkpoint, row, position, inputs.records[position].id)
            for row, position in zip(logs, batch, strict=True)
        ),
        next=remaining[len(batch)] if len(remaining) > len(batch) else None,
        total=len(positions),
        causal=causal,
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


def _score_masked(checkpoint: Checkpoint, inputs: Inputs, positions: list[int]) -> Tensor:
    """Log-probabilities at positions that are masked one at a time, float [N, V]."""
    rows = torch.arange(len(positions), device=inputs.tokens.device)
    tokens = inputs.tokens.repeat(len(positions), 1)  # [N, T]
    tokens[rows, positions] = checkpoint.tokenizer.mask
    segments = inputs.segments.expand_as(tokens)
    masked = torch.tensor(positions, dtype=torch.long, device=tokens.device)[:, None]
    last = checkpoint.network.encode_at(tokens, segments, masked)[:, 0]  # [N, D]
    return log_probabilities(mlm_head(checkpoint)(last))


def _score_causal(checkpoint: Checkpoint, inputs: Inputs, positions: list[int]) -> Tensor:
    """Log-probabilities at the position before each, float [N, V]."""
    last = checkpoint.network.encoder(inputs.tokens, inputs.segments).last[0]  # [T, D]
    return log_probabilities(mlm_head(checkpoint)(last[[position - 1 for position in positions]]))


@torch.inference_mode()
def apply_lens(checkpoint: Checkpoint, question: ApplyLens) -> LensApplied:
    """The predictions at the embeddings and after every layer; see `LensApplied`.

    In a left-to-right model the prediction at a position is read from the vector before it.

    Raises StudioError if the model has no MLM head, or the position does not exist.
    """
    head = mlm_head(checkpoint)
    inputs = encode_question(checkpoint, question)
    count, causal = len(inputs.records), checkpoint.network.spec.is_causal
    positions = tuple(sorted(set(question.positions)))[:MAX_POSITIONS]
    if not positions or positions[0] < int(causal) or positions[-1] >= count:
        raise StudioError(
            "There is no such position in the text.", "Mask or select one of its tokens."
        )
    sources = [position - causal for position in positions]
    tokens = shown_tokens(checkpoint, inputs)
    encoded = checkpoint.network.encoder(tokens, inputs.segments, keep_hidden=True)
    layers = []
    for vectors in encoded.hidden:  # L + 1 of [1, T, D]
        logs = log_probabilities(head(vectors[0, sources]))  # [N, V]
        actual = tuple(
            None
            if inputs.records[position].id == checkpoint.tokenizer.mask_id
            else token_score(checkpoint, row, position, inputs.records[position].id)
            for row, position in zip(logs, positions, strict=True)
        )
        predictions = rank_tokens(checkpoint, logs.exp(), positions, question.top)
        layers.append(LensLayer(predictions=predictions, actual=actual))
    return LensApplied(
        to=question.number, tokens=inputs.records, positions=positions, layers=tuple(layers)
    )
