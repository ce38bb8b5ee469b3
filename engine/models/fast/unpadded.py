"""A batch without its padding: the tokens of all sequences one after another.

All that works on each token by itself takes them as one matrix [N, D]; attention gathers them into
rectangles. Where shapes should repeat, rows of zeros follow the tokens up to a multiple of some
number; nothing of them is read. The plan of a batch is made on the host, from the lengths of its
sequences, before anything is moved to a device: no step waits for a device to learn where padding
lies.

Shapes: B sequences, T tokens in each, N tokens of all without padding, M of them that are wanted,
N' and M' the same with what follows them, D hidden size.
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
class Unpadded:
    """How a layer sees such a batch [N', D]; see `engine.models.attention.Layout`."""

    positions: Tensor  # int64 [N'], of each token in its sequence
    blocks: PaddedBlocks | None  # None: no layer needs them
    rows: Tensor | None = None  # int64 [M'], which of the N tokens are wanted, rising; None: all
    spans: Spans | None = None  # for layers that attend to whole sequences; None: by rectangles
    relative: tuple[Relative, ...] = ()  # what distances add to the scores of each rectangle

    @property
    def query_positions(self) -> Tensor:
        return self.wanted(self.positions)

    def wanted(self, x: Tensor) -> Tensor:
        return x if self.rows is None else x.index_select(0, self.rows)  # [M', …]

    def shift(self, x: Tensor, by: int) -> Tensor:
        place = (torch.arange(len(x), device=x.device) + by).clamp(0, len(x) - 1)  # [N]
        same = self.positions[place] == self.positions + by  # of the same sequence
        return x.index_select(0, place) * same[:, None].to(x.dtype)

    def attend(
        self, attention: Attention, q: Tensor, k: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        share = attention.weight_dropout.p if attention.training else 0.0
        if self.blocks is None:
            return self.gather(q, k, v, attention.heads, share, attention.window), None
        asking, tokens = self.blocks.asking, self.blocks.tokens
        more = len(q) - asking
        q = q[:asking] if more else q
        k, v = (k[:tokens], v[:tokens]) if len(k) > tokens else (k, v)
        if self.relative:
            found = attend_by_distance(attention, q, k, v, self.blocks, self.relative)
        else:
            found = self.gather(q, k, v, attention.heads, share, attention.window)
        return (F.pad(found, (0, 0, 0, more)) if more else found), None

    def gather(
        self, q: Tensor, k: Tensor, v: Tensor, heads: int, dropout: float, window: int | None = None
    ) -> Tensor:
        """What each wanted token gathers, float [M, D]; see `attend`."""
        if self.spans is not None and window is None:
            return attend_nested(q, k, v, heads, self.spans, dropout)
        assert self.blocks is not None
        return attend(q, k, v, self.blocks, dropout, window)

    def with_distances(self, part: nn.Module) -> "Unpadded":
        """With what `part` says of the distances in each rectangle."""
        assert self.blocks is not None
        asking = query_positions(self.blocks, self.query_positions)
        widths = [w for _, w in self.blocks.keys.shapes]
        found = [
            part(rows[..., None] - torch.arange(w, device=rows.device))
            for rows, w in zip(asking, widths, strict=True)
        ]
        return replace(self, relative=tuple(found))

    def map_tensors(self, move: Move) -> "Unpadded":
        rows = None if self.rows is None else move(self.rows)
        plan_blocks = None if self.blocks is None else self.blocks.map_tensors(move)
        plan_spans = None if self.spans is None else self.spans.map_tensors(move)
        return Unpadded(move(self.positions), plan_blocks, rows, plan_spans)


@dataclass(frozen=True)
class UnpaddedBatch:
    """The plan of a batch: how its layers see it, and where its vectors go back."""

    indices: Tensor  # int64 [N], where each token is in the flattened [B * T]
    layers: Unpadded  # as all layers but the last see it
    last: Unpadded  # as the last one sees it
    summary: Tensor  # int64 [B], where the token is that has seen its whole sequence
    order: Tensor | None  # int64 [M], where among the wanted rows each of them is; None: all are

    @property
    def added(self) -> int:
        """How many rows follow the tokens."""
        return len(self.layers.positions) - len(self.indices)

    def map_tensors(self, move: Move) -> "UnpaddedBatch":
        """With every tensor moved, to a device."""
        layers = self.layers.map_tensors(move)
        last = layers if self.last is self.layers else self.last.map_tensors(move)
        order = None if self.order is None else move(self.order)
        return UnpaddedBatch(move(self.indices), layers, last, move(self.summary), order)


def unpad(
    lengths: Ints,
    width: int,
    shape: AttentionShape,
    query_positions: Ints | None = None,
    pools: bool = False,
) -> UnpaddedBatch:
    """Plan a batch, on the host.

    Args:
        lengths: tokens of each sequence, int64 [B]; its padding follows them.
        width: T.
        query_positions: int64 [M], of which positions in the flattened [B * T] the last vectors are
            wanted; None: of all.
        pools: those that sum up each sequence are wanted too, behind the others.
    """
    begins = np.arange(len(lengths)) * width
    summary = begins + lengths - 1 if shape.causal else begins
    order = np.argsort(lengths, kind="stable")  # as a training batch is sorted already
    rising = lengths[order]
    positions = np.concatenate([np.arange(length) for length in rising])  # [N]
    indices = np.repeat(begins[order], rising) + positions
    tensor = torch.from_numpy
    layers = _layout(rising, positions, shape)
    whole = partial(UnpaddedBatch, tensor(indices), layers, summary=tensor(summary))
    if query_positions is None:
        return whole(last=layers, order=None)
    wanted_positions = np.concatenate([query_positions, summary]) if pools else query_positions
    if 2 * len(wanted_positions) > len(indices):
        return whole(last=layers, order=None)
    number = np.zeros(len(lengths) * width, dtype=np.int64)
    number[indices] = np.arange(len(indices))
    wanted = number[wanted_positions]  # [M]
    rows = np.sort(wanted)
    back = np.empty_like(wanted)
    back[np.argsort(wanted, kind="stable")] = np.arange(len(wanted))
    last = _layout(rising, positions, shape, rows, layers.blocks)
    return whole(last=last, order=tensor(back))


def _layout(
    lengths: Ints,
    positions: Ints,
    shape: AttentionShape,
    rows: Ints | None = None,
    whole: PaddedBlocks | None = None,
) -> Unpadded:
    """Of sequences of rising lengths; see `plan_blocks`, which are made where a layer needs them.

    Where `rows` alone are wanted, `whole` are the rectangles of all, if those were needed.
    """
    found = plan_spans(lengths, shape.causal, rows) if shape.nested else None
    needed = found is None or any(window is not None for window in shape.windows)
    made = whole or (plan_blocks(lengths, positions, shape) if needed else None)
    if made is not None and rows is not None:
        made = select_queries(rows, made, lengths, positions, shape)
    return Unpadded(
        _pad_to_multiple(positions, shape.multiple),
        made,
        None if rows is None else _pad_to_multiple(rows, shape.multiple),
        found,
    )


def _pad_to_multiple(numbers: Ints, multiple: int) -> Tensor:
    """With zeros behind them, as many as make a multiple."""
    more = -len(numbers) % multiple
    return torch.from_numpy(np.pad(numbers, (0, more)) if more else numbers)
