"""Masked words (Devlin et al. 2019, §3.1 task 1 and appendix A.1).

Shapes: B sequences, T tokens in each, N tokens that are guessed, V vocabulary, D width.
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.data.packed import pack_stream
from engine.data.store import Rows
from engine.data.tokenizer import Tokenizer
from engine.models.bert import Network
from engine.models.heads import Heads
from engine.spec.task import Pretraining
from engine.tasks.learner import (
    Batch,
    Examples,
    Learner,
    Padded,
    Progress,
    Tally,
    pad,
    random_pieces,
    special_ids,
)


class PretrainingLearner(Learner):
    """Fresh masks at every step, so that no sentence is seen twice in the same way."""

    judged_by = "loss"
    higher_is_better = False

    def __init__(self, task: Pretraining) -> None:
        self._task = task

    @property
    def heads(self) -> Heads:
        return Heads(masked_words=True)

    def study(self, rows: Rows) -> None:
        """Plain text leaves nothing open."""

    def pack(
        self, rows: Rows, tokenizer: Tokenizer, max_length: int, folder: Path, progress: Progress
    ) -> Examples:
        return Examples(pack_stream(rows.texts, tokenizer, max_length, folder, progress, len(rows)))

    @torch.no_grad()
    def prime(self, network: Network, examples: Examples, tokenizer: Tokenizer) -> None:
        """Begin with how frequent each piece is.

        The bias of the head starts as log frequency, so that a fresh network guesses by frequency
        at step 0. Otherwise its first thousand steps go into learning just that, by bending all
        embeddings, which are tied to the decoder, into one direction.
        """
        assert network.masked_words is not None
        counts = examples.packed.counts(tokenizer.size).astype(np.float64)
        counts[special_ids(tokenizer)] = 0
        shares = (counts + 0.5) / (counts + 0.5).sum()
        network.masked_words.bias.copy_(torch.from_numpy(np.log(shares)))

    def batch(
        self,
        examples: Examples,
        numbers: np.ndarray,
        tokenizer: Tokenizer,
        random: np.random.Generator,
    ) -> Batch:
        return self._hidden(pad(examples.packed, numbers, tokenizer.pad), tokenizer, random)

    def made_up(
        self, count: int, width: int, tokenizer: Tokenizer, random: np.random.Generator
    ) -> Batch:
        tokens = torch.from_numpy(random_pieces(count, width, tokenizer, random))
        return self._hidden(Padded(tokens, torch.zeros_like(tokens), None), tokenizer, random)

    def _hidden(self, padded: Padded, tokenizer: Tokenizer, random: np.random.Generator) -> Batch:
        original = padded.tokens.numpy()  # [B, T]
        shown, chosen = hide(original, tokenizer, self._task, random)
        places = np.flatnonzero(chosen)  # [N]
        return Batch(
            torch.from_numpy(shown),
            padded.segments,
            padded.real,
            targets=torch.from_numpy(original.reshape(-1)[places]),
            places=torch.from_numpy(places),
        )

    def loss(self, network: Network, batch: Batch) -> Tensor:
        return F.cross_entropy(piece_logits(network, batch), batch.targets)

    def tally(self) -> "MaskedTally":
        return MaskedTally()


class MaskedTally(Tally):
    """Sums over the guessed tokens."""

    def __init__(self) -> None:
        self._loss, self._first, self._five, self._count = 0.0, 0, 0, 0

    def add(self, network: Network, batch: Batch) -> None:
        logits = piece_logits(network, batch)  # [N, V]
        self._loss += float(F.cross_entropy(logits, batch.targets, reduction="sum"))
        best = logits.topk(min(5, logits.size(1)), dim=1).indices  # [N, 5]
        hits = best == batch.targets[:, None]
        self._first += int(hits[:, 0].sum())
        self._five += int(hits.any(dim=1).sum())
        self._count += len(batch.targets)

    def figures(self) -> dict[str, float]:
        count = max(self._count, 1)
        return {
            "loss": self._loss / count,
            "accuracy": self._first / count,
            "top5": self._five / count,
            "examples": self._count,
        }


def hide(
    tokens: np.ndarray, tokenizer: Tokenizer, task: Pretraining, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose tokens to be guessed and hide them: 80 % [MASK], 10 % another piece, 10 % as it is.

    Each sequence gets round(share x its tokens) of them, at least one, as in the paper's code;
    special tokens are never chosen.

    Args:
        tokens: int64 [B, T], as they are in the text.

    Returns:
        int64 [B, T] as the network sees them, and bool [B, T], True where a guess is asked.
    """
    ordinary = ~np.isin(tokens, special_ids(tokenizer))  # [B, T]
    draw = np.where(ordinary, random.random(tokens.shape), 2.0)
    rank = draw.argsort(axis=1).argsort(axis=1)  # place of each token in its row's random order
    count = ordinary.sum(axis=1, keepdims=True)
    wanted = np.where(count > 0, np.maximum(1, np.rint(task.chosen * count)), 0)
    chosen = rank < wanted

    fate = random.random(tokens.shape)
    others = random.integers(0, tokenizer.size, tokens.shape)
    shown = np.where(chosen & (fate < task.masked), tokenizer.mask, tokens)
    swapped = chosen & (fate >= task.masked) & (fate < task.masked + task.randomised)
    return np.where(swapped, others, shown), chosen


def piece_logits(network: Network, batch: Batch) -> Tensor:
    """Logits of the guessed tokens alone, as float32 [N, V]: no work for the others."""
    assert network.masked_words is not None and batch.places is not None
    encoded = network.encoder(batch.tokens, batch.segments, batch.real)
    rows = encoded.last.flatten(0, 1)[batch.places]  # [N, D]
    logits: Tensor = network.masked_words(rows)  # [N, V]
    return logits.float()
