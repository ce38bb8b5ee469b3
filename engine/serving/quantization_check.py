"""Check that fast answers agree with exact ones, on built-in texts.

Shapes: T tokens, N positions, V vocabulary, C outputs, L layers, H heads.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.models.checkpoint import Checkpoint
from engine.models.network import Network

BOUND = 0.01  # max. difference of a probability
LOG_BOUND = 0.05  # max. difference of a log probability, which matters for small ones
MIN_PROBABILITY = 1e-30  # smaller probabilities count as 0
TIE_MARGIN = 0.001  # tokens closer than this may swap ranks
NUMBER_BOUND = 0.01  # max. difference of a number, relative to the largest or to 1
TOP_TOKENS = 5  # must rank first in both
MASK_EVERY = 4  # mask and predict every n-th token

TEXTS: tuple[tuple[str, str | None], ...] = (
    ("The president spoke to the people of the United States.", None),
    ("Where does she live?", "She has lived in Paris since 2019, near the river."),
    ("It cost $1,234.56 (about 20 %), and wasn't that cheap?", None),
    ("A gripping, beautifully acted film that never loses its way.", None),
    ("Dull from the first minute to the last; the worst of them all.", None),
    ("Zażółć gęślą jaźń, naïve fiancée, Ωμέγα, 北京大学.", None),
    ("CC(=O)Oc1ccccc1C(=O)O.OCC>>CC(=O)OCC", None),
    (
        (
            "In the evening the children went home, and their mother asked them what they had seen "
            "by the river, in the old town and at school. They told her of ships, of a bridge that "
            "was being built, and of the man who had lost his hat to the wind."
        ),
        None,
    ),
)


@dataclass
class Predictions:
    """Predictions for a text."""

    tokens: Tensor | None  # probabilities, float [N, V]
    task: Tensor | None  # probabilities, or numbers, float [..., C]
    is_number: bool
    weights: tuple[Tensor, ...]  # attention, L of [H, T, T]


def predict(checkpoint: Checkpoint, text: tuple[str, str | None]) -> Predictions:
    """Predict every fourth token of a text, and the task."""
    network, tokenizer = checkpoint.network, checkpoint.tokenizer
    encoded = tokenizer.encode(*text, checkpoint.spec.max_positions)
    tokens, segments = torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
    weights = network.encoder(tokens, segments, keep_weights=True).weights
    predicted = None
    if network.mlm is not None and tokenizer.mask_id is not None:
        ordinary = [n for n, token in enumerate(encoded.tokens) if not token.special]
        positions = ordinary[1::MASK_EVERY] or ordinary[:1]
        masked = tokens.clone()
        masked[0, positions] = tokenizer.mask
        last = network.encoder(masked, segments).last[0, positions]
        predicted = network.mlm(last).float().softmax(-1)
    head = network.heads.task
    is_number = head is not None and (head.outputs == 1 or head.pools or head.labels_spans)
    return Predictions(
        predicted, _task(network, tokens, segments), is_number, tuple(w[0] for w in weights)
    )


def encode_copies(checkpoint: Checkpoint, text: tuple[str, str | None], copies: int) -> Tensor:
    """Last hidden states of `copies` copies of a text, float [B, T, D]."""
    encoded = checkpoint.tokenizer.encode(*text, checkpoint.spec.max_positions)
    tokens = torch.tensor([encoded.ids]).expand(copies, -1)
    segments = torch.tensor([encoded.segments]).expand(copies, -1)
    last: Tensor = checkpoint.network.encoder(tokens, segments).last
    return last


def _task(network: Network, tokens: Tensor, segments: Tensor) -> Tensor | None:
    """Probabilities or number of the task head; None without one."""
    head = network.heads.task
    if head is None:
        return None
    logits = network.logits(tokens, segments)  # [1, C] or [1, T, C]
    if head.outputs == 1 or head.pools or head.labels_spans:
        return logits
    if head.finds_spans:
        return logits.softmax(1)
    return logits.sigmoid() if head.tensors[0].meaning == "any" else logits.softmax(-1)


def agrees(quick: Predictions, exact: Predictions) -> bool:
    """True if the top tokens are equal and all probabilities or numbers are close."""
    if quick.tokens is not None and exact.tokens is not None:
        for row, right in zip(quick.tokens, exact.tokens, strict=True):
            if not same_tokens(row, right):
                return False
    if quick.task is not None and exact.task is not None:
        scale = max(1.0, float(exact.task.abs().max())) if exact.is_number else 1.0
        bound = NUMBER_BOUND * scale if exact.is_number else BOUND
        if not exact.is_number and not logs_are_near(quick.task, exact.task):
            return False
        return float((quick.task - exact.task).abs().max()) <= bound
    return True


def same_tokens(quick: Tensor, exact: Tensor) -> bool:
    """True if the top five of float [V] are equal and in order, except for near ties."""
    first = exact.topk(min(TOP_TOKENS, len(exact))).indices
    others = quick.topk(len(first)).indices
    near = float((quick[first] - exact[first]).abs().max()) <= BOUND
    return (
        near
        and logs_are_near(quick, exact)
        and float((exact[first] - exact[others]).abs().max()) <= TIE_MARGIN
    )


def logs_are_near(quick: Tensor, exact: Tensor) -> bool:
    """True if all probabilities, also the smallest, agree within a factor."""
    difference = quick.clamp_min(MIN_PROBABILITY).log() - exact.clamp_min(MIN_PROBABILITY).log()
    return float(difference.abs().max()) <= LOG_BOUND


def attention_agrees(quick: Predictions, exact: Predictions) -> bool:
    """True if all attention weights are close."""
    pairs = zip(quick.weights, exact.weights, strict=True)
    return all(float((weights - right).abs().max()) <= BOUND for weights, right in pairs)
