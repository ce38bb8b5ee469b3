"""softmax(q kᵀ / √K) v over an unpadded batch: padded blocks, or kernels for nested tensors.

Tests compare `attend` with `engine.models.attention`. On a CPU its backward pass is explicit:
autograd would save more, and fill the gradients of gathered tensors one by one. The nested kernels
need a GPU; a CPU emulates them slowly, for tests.

Shapes as in padded_blocks.py.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.attention import Attention
from engine.models.fast.dropout import dropped_indices
from engine.models.fast.padded_blocks import Ints, Move, PaddedBlocks, cumulative_lengths
from engine.models.relative import Relative

MIN_REDUCED_WIDTH = 128  # tokens; below it, oneDNN's kernel per block shape costs too much


def attend(
    q: Tensor, k: Tensor, v: Tensor, blocks: PaddedBlocks, dropout: float, window: int | None = None
) -> Tensor:
    """Attend within each sequence.

    Args:
        q: float [M, D], of the query tokens.
        k, v: float [N, D], of all tokens.
        dropout: probability for attention weights.
        window: tokens on each side; None: all.

    Returns:
        float [M, D].
    """
    if q.device.type == "cpu" and torch.is_grad_enabled():
        gathered: Tensor = UnpaddedAttention.apply(q, k, v, blocks, dropout, window)  # type: ignore[no-untyped-call]
        return gathered
    return attend_sdpa(q, k, v, blocks, dropout, window)


def attend_sdpa(
    q: Tensor, k: Tensor, v: Tensor, blocks: PaddedBlocks, dropout: float, window: int | None = None
) -> Tensor:
    """One SDPA call per block; fast on a GPU, and without gradients.

    A bias in the type of q keeps the fast kernels available.
    """
    parts = []
    sides = _by_head(q, blocks, True), _by_head(k, blocks), _by_head(v, blocks)
    for Q, K, V, bias in zip(*sides, blocks.biases[window], strict=True):
        mask = None if bias is None else bias.to(Q.dtype)
        parts.append(F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, dropout_p=dropout))
    return _join(parts, blocks)


def attend_by_distance(
    attention: Attention,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    blocks: PaddedBlocks,
    relative: tuple[Relative, ...],
) -> Tensor:
    """`attend` with relative-position scores: float [M, D] and [N, D] → [M, D]."""
    parts = []
    sides = _by_head(q, blocks, True), _by_head(k, blocks), _by_head(v, blocks)
    biases = blocks.biases[attention.window]
    for Q, K, V, bias, position_bias in zip(*sides, biases, relative, strict=True):
        scores = (Q * attention.scale) @ K.mT
        for _, part in position_bias.terms(attention, Q, K):
            scores = scores + part
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        weights = attention.weight_dropout(scores.softmax(-1)).to(V.dtype)
        parts.append(weights @ V)
    return _join(parts, blocks)


def query_positions(blocks: PaddedBlocks, positions: Tensor) -> list[Tensor]:
    """Positions of the queries of each block in their sequences: int64 [1 or n, m].

    Args:
        positions: int64 [M], of the query tokens.
    """
    if blocks.queries is blocks.keys:
        return [torch.arange(w, device=positions.device)[None] for _, w in blocks.keys.shapes]
    sizes = [n * blocks.heads * m for n, m in blocks.queries.shapes]
    queries = []
    for source, (n, m) in zip(
        blocks.queries.source.split(sizes), blocks.queries.shapes, strict=True
    ):
        token = source.view(n, blocks.heads, m)[:, 0] // blocks.heads  # [n, m]
        queries.append(positions[token])
    return queries


def _by_head(x: Tensor, blocks: PaddedBlocks, queries: bool = False) -> list[Tensor]:
    """[N, D] → a block [n, H, w, K] for each group of sequences: views if nothing is padding."""
    cells, H = blocks.queries if queries else blocks.keys, blocks.heads
    if len(cells.padding):
        return [block.unflatten(0, (-1, H)) for block in _gather_blocks(x, blocks, queries)]
    parts = x.split([n * w for n, w in cells.shapes])
    return [
        part.view(n, w, H, -1).transpose(1, 2)
        for part, (n, w) in zip(parts, cells.shapes, strict=True)
    ]


def _join(parts: list[Tensor], blocks: PaddedBlocks) -> Tensor:
    """Outputs of blocks, [n, H, m, K] each → [M, D]."""
    if len(blocks.queries.padding):
        cells = torch.cat([part.flatten(0, 2) for part in parts])  # [cells, K]
        return cells.index_select(0, blocks.queries.back).view(blocks.query_count, -1)
    rows = [part.transpose(1, 2).reshape(-1, part.size(1) * part.size(3)) for part in parts]
    return rows[0] if len(rows) == 1 else torch.cat(rows)


def _gather_blocks(x: Tensor, blocks: PaddedBlocks, queries: bool = False) -> list[Tensor]:
    """[N, D] → a block [n * H, w, K] for each group of sequences."""
    cells = blocks.queries if queries else blocks.keys
    rows = x.reshape(-1, x.size(1) // blocks.heads).index_select(0, cells.source)
    return _as_blocks(rows, blocks, queries)


def _as_blocks(rows: Tensor, blocks: PaddedBlocks, queries: bool = False) -> list[Tensor]:
    """[cells, K] → views of it, [n * H, w, K] each."""
    shapes = (blocks.queries if queries else blocks.keys).shapes
    sizes = [n * blocks.heads * w for n, w in shapes]
    split = torch.split_with_sizes(rows, sizes)
    return [part.view(-1, w, rows.size(1)) for part, (_, w) in zip(split, shapes, strict=True)]


class UnpaddedAttention(torch.autograd.Function):
    """Explicit backward pass; saves the weights before dropout and the dropped indices."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        blocks: PaddedBlocks,
        dropout: float,
        window: int | None,
    ) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            ctx.dtypes = q.dtype, k.dtype, v.dtype
            is_wide = max(width for _, width in blocks.keys.shapes) >= MIN_REDUCED_WIDTH
            dtype = q.dtype if is_wide else torch.promote_types(q.dtype, torch.float32)
            q, k, v = (_cast(x, dtype) for x in (q, k, v))
            rows, heads = q.size(0), blocks.heads
            scale = 1 / math.sqrt(q.size(1) // heads)
            sides = (
                _gather_blocks(q, blocks, True),
                _gather_blocks(k, blocks),
                _gather_blocks(v, blocks),
            )
            out = q.new_empty(len(blocks.queries.source), q.size(1) // heads)  # [cells, K]
            saved = list[Tensor]()
            for Q, K, V, target, bias in zip(
                *sides, _as_blocks(out, blocks, True), blocks.biases[window], strict=True
            ):
                scores = _matmul(Q, K.mT, scale)  # [n * H, m, w]
                if bias is not None:
                    by_head = scores.view(-1, heads, *scores.shape[1:])
                    by_head.add_(_cast(bias, dtype))
                weights = scores.softmax(-1)
                dropped = dropped_indices(weights.numel(), dropout)
                saved += [Q, K, V, weights, dropped]
                dropped_weights = _drop(weights, dropped)
                target.baddbmm_(dropped_weights, V, beta=0, alpha=1 / (1 - dropout))
            ctx.save_for_backward(*saved)
            ctx.blocks, ctx.dropout, ctx.scale = blocks, dropout, scale
            gathered = out.index_select(0, blocks.queries.back).view(rows, -1)
            return _cast(gathered, ctx.dtypes[0])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        blocks, keep_scale, scale = ctx.blocks, 1 / (1 - ctx.dropout), ctx.scale
        saved = ctx.saved_tensors
        width = saved[0].size(2)
        gradient = _cast(gradient, saved[0].dtype)
        rows = gradient.reshape(-1, width).index_select(0, blocks.queries.source)
        rows.index_fill_(0, blocks.queries.padding, 0)
        to_q = torch.empty_like(rows)
        to_k, to_v = (rows.new_empty(len(blocks.keys.source), width) for _ in range(2))
        for index, (G, to_Q, to_K, to_V) in enumerate(
            zip(
                _as_blocks(rows, blocks, True),
                _as_blocks(to_q, blocks, True),
                _as_blocks(to_k, blocks),
                _as_blocks(to_v, blocks),
                strict=True,
            )
        ):
            Q, K, V, weights, dropped = saved[5 * index : 5 * index + 5]
            to_V.baddbmm_(_drop(weights, dropped).mT, G, beta=0, alpha=keep_scale)
            flow = _matmul(G, V.mT, keep_scale)  # [n * H, m, w], to the weights
            flow.view(-1).index_fill_(0, dropped, 0)
            flow.mul_(weights)
            flow.addcmul_(weights, flow.sum(-1, keepdim=True), value=-1)  # to the scores
            to_Q.baddbmm_(flow, K, beta=0, alpha=scale)
            to_K.baddbmm_(flow.mT, Q, beta=0, alpha=scale)
        joined = [to_q.index_select(0, blocks.queries.back)]
        joined += [x.index_select(0, blocks.keys.back) for x in (to_k, to_v)]
        D = blocks.heads * width
        gradients = (
            _cast(x.view(-1, D), dtype) for x, dtype in zip(joined, ctx.dtypes, strict=True)
        )
        return (*gradients, None, None, None)


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Skip no-op casts: `to` releases the GIL even then."""
    return x if x.dtype == dtype else x.to(dtype)


def _matmul(left: Tensor, other: Tensor, factor: float) -> Tensor:
    """factor * left @ other, [n, m, w]."""
    out = left.new_empty(left.size(0), left.size(1), other.size(2))
    return out.baddbmm_(left, other, beta=0, alpha=factor)


def _drop(weights: Tensor, dropped: Tensor) -> Tensor:
    if not dropped.numel():
        return weights
    out = weights.clone()
    out.view(-1).index_fill_(0, dropped, 0)
    return out


@dataclass(frozen=True)
class Span:
    """Consecutive sequences; the host knows their lengths."""

    offsets: Tensor  # int64 [B + 1], starts, and the end of the last
    min_length: int  # tokens, at least 1
    max_length: int

    def to_nested(self, x: Tensor, heads: int) -> Tensor:
        """[M or N, D] → nested [B, H, tokens of each, D / H]."""
        rows = x.reshape(len(x), heads, -1)
        nested_tensor: Tensor = torch.nested.nested_tensor_from_jagged(
            rows, self.offsets, min_seqlen=self.min_length, max_seqlen=self.max_length
        )
        return nested_tensor.transpose(1, 2)

    def map_tensors(self, move: Move) -> "Span":
        return Span(move(self.offsets), self.min_length, self.max_length)


@dataclass(frozen=True)
class Spans:
    """Spans of the query tokens and of all tokens."""

    queries: Span
    keys: Span
    causal: bool

    def map_tensors(self, move: Move) -> "Spans":
        keys = self.keys.map_tensors(move)
        queries = keys if self.queries is self.keys else self.queries.map_tensors(move)
        return Spans(queries, keys, self.causal)


def plan_spans(lengths: Ints, causal: bool, rows: Ints | None = None) -> Spans | None:
    """Plan sequences of these lengths, int64 [B]; None if the kernels do not support it.

    Every sequence needs a query, and a causal network all of them.

    Args:
        rows: int64 [M], query tokens among N, ascending; None: all.
    """
    keys = _span(lengths)
    if rows is None:
        return Spans(keys, keys, causal)
    sequences = np.repeat(np.arange(len(lengths)), lengths)  # [N]
    counts = np.bincount(sequences[rows], minlength=len(lengths))
    return None if causal or not counts.all() else Spans(_span(counts), keys, causal)


def attend_nested(
    q: Tensor, k: Tensor, v: Tensor, heads: int, spans: Spans, dropout: float
) -> Tensor:
    """`attend` by nested-tensor kernels: float [M, D] and [N, D] → [M, D]."""
    with _match_inference_mode(q):
        gathered = F.scaled_dot_product_attention(
            spans.queries.to_nested(q, heads),
            spans.keys.to_nested(k, heads),
            spans.keys.to_nested(v, heads),
            dropout_p=dropout,
            is_causal=spans.causal,
        )
        return gathered.transpose(1, 2).values().reshape(q.shape)


@contextmanager
def _match_inference_mode(x: Tensor) -> Iterator[None]:
    """In inference mode, torch makes nested tensors only from inference tensors."""
    if torch.is_inference_mode_enabled() and not x.is_inference():
        with torch.inference_mode(False), torch.no_grad():
            yield
    else:
        yield


def _span(counts: Ints) -> Span:
    return Span(torch.from_numpy(cumulative_lengths(counts)), int(counts.min()), int(counts.max()))
