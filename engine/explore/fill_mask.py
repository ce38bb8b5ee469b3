"""Predicted tokens at masked positions.

Shapes: T tokens, N masked positions, D hidden size, V vocabulary.
"""

import time

import torch
from torch import Tensor

from engine.errors import StudioError
from engine.messages.explore.fill_mask import FillMask, MaskFilled
from engine.messages.explore.text import LabelProbability, Prediction
from engine.models.checkpoint import Checkpoint
from engine.models.heads import MlmHead
from engine.tasks.finite import not_finite_error, softmax
from engine.tasks.inputs import Inputs, encode_question


@torch.inference_mode()
def fill_mask(checkpoint: Checkpoint, question: FillMask) -> MaskFilled:
    """The most likely tokens at each masked position, predicted independently.

    A left-to-right model predicts them in order, each from the tokens before it.

    Raises StudioError if the model has no MLM head.
    """
    began = time.perf_counter()
    network = checkpoint.network
    mlm_head(checkpoint)
    inputs = encode_question(checkpoint, question)
    probabilities = torch.zeros(0, checkpoint.tokenizer.size)  # [N, V]
    if inputs.masked:
        probabilities = softmax(_logits(checkpoint, inputs))
    typed = [
        _typed_token(checkpoint, row, inputs.records[position].id)
        for row, position in zip(probabilities, inputs.masked, strict=True)
    ]
    return MaskFilled(
        to=question.number,
        tokens=inputs.records,
        truncated=inputs.truncated,
        predictions=rank_tokens(checkpoint, probabilities, inputs.masked, question.top),
        actual=tuple(token for token, _ in typed),
        ranks=tuple(rank for _, rank in typed),
        requested=tuple(
            _label_probabilities(checkpoint, row, question.requested) for row in probabilities
        ),
        causal=network.spec.is_causal,
        milliseconds=(time.perf_counter() - began) * 1000,
    )


def _logits(checkpoint: Checkpoint, inputs: Inputs) -> Tensor:
    """Logits for the masked positions, [N, V]."""
    network = checkpoint.network
    if network.spec.is_causal:
        return _predict_in_turn(checkpoint, inputs)[1]
    positions = torch.tensor([inputs.masked], device=inputs.tokens.device)
    last = network.encode_at(inputs.tokens, inputs.segments, positions)[0]  # [N, D]
    logits: Tensor = mlm_head(checkpoint)(last)
    return logits


def shown_tokens(checkpoint: Checkpoint, inputs: Inputs) -> Tensor:
    """The input tokens of the network, int64 [1, T].

    A left-to-right model was not trained with [MASK], so a masked position gets its top prediction.
    """
    causal = checkpoint.network.spec.is_causal and inputs.masked
    return _predict_in_turn(checkpoint, inputs)[0] if causal else inputs.tokens


def _predict_in_turn(checkpoint: Checkpoint, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Tokens int64 [1, T] with the masks replaced by predictions, and their logits, [N, V]."""
    network, tokens, head = checkpoint.network, inputs.tokens.clone(), mlm_head(checkpoint)
    logits = []
    for position in inputs.masked:
        before = tokens[:, :position], inputs.segments[:, :position]
        last = network.encoder(*before).last[0, -1]  # [D]
        logits.append(head(last))
        tokens[0, position] = logits[-1][: checkpoint.tokenizer.size].argmax()
    return tokens, torch.stack(logits)


def mlm_head(checkpoint: Checkpoint) -> MlmHead:
    """The MLM head. Raises StudioError if the model has none."""
    head = checkpoint.network.mlm
    if head is None:
        raise StudioError(
            "This model has no MLM head.",
            "Choose one that was pre-trained with MLM, such as the starter model.",
        )
    return head


def log_probabilities(logits: Tensor) -> Tensor:
    """Natural log-probabilities along the last axis, float32, finite."""
    logs = logits.float().log_softmax(-1)
    if not torch.isfinite(logs).all():
        raise not_finite_error()
    return logs


def rank_tokens(
    checkpoint: Checkpoint, probabilities: Tensor, positions: tuple[int, ...], top: int
) -> tuple[Prediction, ...]:
    """The best tokens of each row of float [N, V]; V may be larger than the vocabulary."""
    known = probabilities[:, : checkpoint.tokenizer.size]
    best = known.topk(max(1, min(top, known.size(1))), dim=1)
    name = checkpoint.tokenizer.token
    return tuple(
        Prediction(
            first=position,
            last=position,
            ranked=tuple(
                LabelProbability(label=name(id_), probability=value)
                for value, id_ in zip(values, ids, strict=True)
            ),
        )
        for position, values, ids in zip(
            positions, best.values.tolist(), best.indices.tolist(), strict=True
        )
    )


def _typed_token(
    checkpoint: Checkpoint, row: Tensor, token_id: int
) -> tuple[LabelProbability, int]:
    """The typed token and its rank from 1; an empty label and 0 if [MASK] itself was typed."""
    tokenizer, probability = checkpoint.tokenizer, row[token_id]
    if token_id == tokenizer.mask:
        return LabelProbability(label="", probability=0), 0
    token = LabelProbability(label=tokenizer.token(token_id), probability=float(probability))
    return token, 1 + int((row[: tokenizer.size] > probability).sum())


def _label_probabilities(
    checkpoint: Checkpoint, row: Tensor, labels: tuple[str, ...]
) -> tuple[LabelProbability, ...]:
    """Probabilities of those labels that are in the vocabulary."""
    tokenizer = checkpoint.tokenizer
    ids = {label: tokenizer.id(label) for label in labels}
    if any(tokenizer.token(id_) != label for label, id_ in ids.items()):
        by_name = {tokenizer.token(index): index for index in range(tokenizer.size)}
        ids = {label: by_name[label] for label in labels if label in by_name}
    return tuple(
        LabelProbability(label=label, probability=float(row[id_])) for label, id_ in ids.items()
    )
