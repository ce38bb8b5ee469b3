"""Attention over a batch without padding by the library's kernels for sequences of any length.

Each sequence attends within itself: nothing is gathered into rectangles, and no weights are kept.
A GPU has kernels for it (nested tensors, `scaled_dot_product_attention`); the processor goes the
same way by plain products, which is slow there and good for tests.

Shapes: B sequences, N tokens of all, M of them that are wanted, D hidden size, H heads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.fast.rectangles import Ints, Move, cumulated


@dataclass(frozen=True)
class Span:
    """Where sequences lie one after another; the host knows how long they are."""

    offsets: Tensor  # int64 [B + 1], where each begins, and where the last one ends
    shortest: int  # tokens, at least 1
    longest: int

    def nested(self, x: Tensor, heads: int) -> Tensor:
        """[M or N, D] → nested [B, H, tokens of each, D / H]."""
        rows = x.reshape(len(x), heads, -1)
        made: Tensor = torch.nested.nested_tensor_from_jagged(
            rows, self.offsets, min_seqlen=self.shortest, max_seqlen=self.longest
        )
        return made.transpose(1, 2)

    def moved(self, move: Move) -> "Span":
        return Span(move(self.offsets), self.shortest, self.longest)


@dataclass(frozen=True)
class Spans:
    """Of the tokens that are wanted, and of all."""

    queries: Span
    keys: Span
    causal: bool

    def moved(self, move: Move) -> "Spans":
        keys = self.keys.moved(move)
        queries = keys if self.queries is self.keys else self.queries.moved(move)
        return Spans(queries, keys, self.causal)


def spans(lengths: Ints, causal: bool, rows: Ints | None = None) -> Spans | None:
    """Of sequences with so many tokens, int64 [B]; None where the kernels do not take them.

    Every sequence has to ask something there, and all of it where a token must not look ahead.

    Args:
        rows: int64 [M], rising: which of the N tokens are wanted; None: all.
    """
    keys = _span(lengths)
    if rows is None:
        return Spans(keys, keys, causal)
    sequences = np.repeat(np.arange(len(lengths)), lengths)  # [N]
    counts = np.bincount(sequences[rows], minlength=len(lengths))
    return None if causal or not counts.all() else Spans(_span(counts), keys, causal)


def attend_nested(
    q: Tensor, k: Tensor, v: Tensor, heads: int, where: Spans, dropout: float
) -> Tensor:
    """`attend` of unpadded_attention.py without rectangles, for float [M, D] and [N, D]: [M, D]."""
    with _mode_of(q):
        found = F.scaled_dot_product_attention(
            where.queries.nested(q, heads),
            where.keys.nested(k, heads),
            where.keys.nested(v, heads),
            dropout_p=dropout,
            is_causal=where.causal,
        )
        return found.transpose(1, 2).values().reshape(q.shape)


@contextmanager
def _mode_of(x: Tensor) -> Iterator[None]:
    """Where nothing is learned, torch makes nested tensors only of those made there."""
    if torch.is_inference_mode_enabled() and not x.is_inference():
        with torch.inference_mode(False), torch.no_grad():
            yield
    else:
        yield


def _span(counts: Ints) -> Span:
    return Span(torch.from_numpy(cumulated(counts)), int(counts.min()), int(counts.max()))
