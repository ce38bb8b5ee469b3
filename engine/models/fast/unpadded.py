"""A batch without padding: the tokens of all sequences, concatenated.

Position-wise operations see one matrix [N, D]; attention gathers padded blocks. To get few shapes,
zero rows may follow the tokens. The plan of a batch is made on the host from its sequence lengths,
so no step waits for a device.

Shapes: B sequences, T tokens in each, N tokens without padding, M query tokens, N' and M' including
added rows, D hidden size.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.models.attention import Attention
from engine.models.fast.padded_blocks import (
    AttentionShape,
    Ints,
    Move,
    PaddedBlocks,
    plan_blocks,
    select_queries,
)
from engine.models.fast.unpadded_attention import (
    Spans,
    attend,
    attend_by_distance,
    attend_nested,
    plan_spans,
    query_positions,
)
from engine.models.relative import Relative


@dataclass(frozen=True)
class UnpaddedLayout:
    """Layout of an unpadded batch [N', D]; see `engine.models.attention.Layout`."""

    positions: Tensor  # int64 [N'], of each token in its sequence
    blocks: PaddedBlocks | None  # None if no layer needs them
    rows: Tensor | None = None  # int64 [M'], query tokens among N, ascending; None: all
    spans: Spans | None = None  # for layers with full attention; None: use blocks
    relative: tuple[Relative, ...] = ()  # relative-position scores per block

    @property
    def query_positions(self) -> Tensor:
        return self.take_queries(self.positions)

    def take_queries(self, x: Tensor) -> Tensor:
        return x if self.rows is None else x.index_select(0, self.rows)  # [M', …]

    def shift(self, x: Tensor, by: int) -> Tensor:
        indices = (torch.arange(len(x), device=x.device) + by).clamp(0, len(x) - 1)  # [N]
        same = self.positions[indices] == self.positions + by  # in the same sequence
        return x.index_select(0, indices) * same[:, None].to(x.dtype)

    def attend(
        self, attention: Attention, q: Tensor, k: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        dropout = attention.weight_dropout.p if attention.training else 0.0
        if self.blocks is None:
            return self.gather(q, k, v, attention.heads, dropout, attention.window), None
        count, tokens = self.blocks.query_count, self.blocks.tokens
        extra = len(q) - count
        q = q[:count] if extra else q
        k, v = (k[:tokens], v[:tokens]) if len(k) > tokens else (k, v)
        if self.relative:
            gathered = attend_by_distance(attention, q, k, v, self.blocks, self.relative)
        else:
            gathered = self.gather(q, k, v, attention.heads, dropout, attention.window)
        return (F.pad(gathered, (0, 0, 0, extra)) if extra else gathered), None

    def gather(
        self, q: Tensor, k: Tensor, v: Tensor, heads: int, dropout: float, window: int | None = None
    ) -> Tensor:
        """Attention output of each query token, float [M, D]; see `attend`."""
        if self.spans is not None and window is None:
            return attend_nested(q, k, v, heads, self.spans, dropout)
        assert self.blocks is not None
        return attend(q, k, v, self.blocks, dropout, window)

    def with_relative(self, module: nn.Module) -> "UnpaddedLayout":
        """Copy with the relative-position scores of each block."""
        assert self.blocks is not None
        queries = query_positions(self.blocks, self.query_positions)
        widths = [w for _, w in self.blocks.keys.shapes]
        biases = [
            module(rows[..., None] - torch.arange(w, device=rows.device))
            for rows, w in zip(queries, widths, strict=True)
        ]
        return replace(self, relative=tuple(biases))

    def map_tensors(self, move: Move) -> "UnpaddedLayout":
        rows = None if self.rows is None else move(self.rows)
        blocks = None if self.blocks is None else self.blocks.map_tensors(move)
        spans = None if self.spans is None else self.spans.map_tensors(move)
        return UnpaddedLayout(move(self.positions), blocks, rows, spans)


@dataclass(frozen=True)
class UnpaddedBatch:
    """Plan of a batch: layouts of its layers, and the positions of its vectors."""

    indices: Tensor  # int64 [N], index of each token in the flattened [B * T]
    layout: UnpaddedLayout  # of all layers except the last
    last_layout: UnpaddedLayout
    pooled: Tensor  # int64 [B], flat index of the pooled token of each sequence
    order: Tensor | None  # int64 [M], row of each query position; None: all tokens

    @property
    def added_rows(self) -> int:
        """Number of rows after the tokens."""
        return len(self.layout.positions) - len(self.indices)

    def map_tensors(self, move: Move) -> "UnpaddedBatch":
        """Apply `move` to every tensor."""
        layout = last_layout = self.layout.map_tensors(move)
        if self.last_layout is not self.layout:
            last_layout = self.last_layout.map_tensors(move)
        order = None if self.order is None else move(self.order)
        return UnpaddedBatch(move(self.indices), layout, last_layout, move(self.pooled), order)


def unpad(
    lengths: Ints,
    width: int,
    shape: AttentionShape,
    query_positions: Ints | None = None,
    pools: bool = False,
) -> UnpaddedBatch:
    """Plan a batch on the host.

    Args:
        lengths: tokens of each sequence, int64 [B]; padding follows them.
        width: T.
        query_positions: int64 [M], indices into the flattened [B * T] of the last hidden states to
            return; None: all.
        pools: also return the pooled tokens, after the others.
    """
    starts = np.arange(len(lengths)) * width
    pooled = starts + lengths - 1 if shape.causal else starts
    order = np.argsort(lengths, kind="stable")  # training batches are sorted already
    sorted_lengths = lengths[order]
    positions = np.concatenate([np.arange(length) for length in sorted_lengths])  # [N]
    indices = np.repeat(starts[order], sorted_lengths) + positions
    tensor = torch.from_numpy
    layout = _layout(sorted_lengths, positions, shape)
    batch = partial(UnpaddedBatch, tensor(indices), layout, pooled=tensor(pooled))
    if query_positions is None:
        return batch(last_layout=layout, order=None)
    returned = np.concatenate([query_positions, pooled]) if pools else query_positions
    if 2 * len(returned) > len(indices):
        return batch(last_layout=layout, order=None)
    row_of_position = np.zeros(len(lengths) * width, dtype=np.int64)
    row_of_position[indices] = np.arange(len(indices))
    requested = row_of_position[returned]  # [M]
    rows = np.sort(requested)
    back = np.empty_like(requested)
    back[np.argsort(requested, kind="stable")] = np.arange(len(requested))
    last_layout = _layout(sorted_lengths, positions, shape, rows, layout.blocks)
    return batch(last_layout=last_layout, order=tensor(back))


def _layout(
    lengths: Ints,
    positions: Ints,
    shape: AttentionShape,
    rows: Ints | None = None,
    all_blocks: PaddedBlocks | None = None,
) -> UnpaddedLayout:
    """Layout of sequences of ascending lengths.

    `rows` are the only queries; None: all. `all_blocks` have all tokens as queries.
    """
    spans = plan_spans(lengths, shape.causal, rows) if shape.nested else None
    needed = spans is None or any(window is not None for window in shape.windows)
    blocks = all_blocks or (plan_blocks(lengths, positions, shape) if needed else None)
    if blocks is not None and rows is not None:
        blocks = select_queries(rows, blocks, lengths, positions, shape)
    return UnpaddedLayout(
        _pad_to_multiple(positions, shape.multiple),
        blocks,
        None if rows is None else _pad_to_multiple(rows, shape.multiple),
        spans,
    )


def _pad_to_multiple(indices: Ints, multiple: int) -> Tensor:
    extra = -len(indices) % multiple
    return torch.from_numpy(np.pad(indices, (0, extra)) if extra else indices)
