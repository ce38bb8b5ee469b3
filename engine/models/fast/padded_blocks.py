"""Padded blocks for attention over an unpadded batch.

Only attention needs to know which tokens belong to one sequence. Sequences of similar length are
gathered into blocks, to get few blocks with little padding. The plan is computed on the host from
the sequence lengths.

Shapes: N tokens of all sequences, M query tokens, H heads, K size of a head; n sequences of w
tokens (m query tokens) in a block.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ints = NDArray[np.int64]
Move = Callable[[Tensor], Tensor]
Groups = list[tuple[int, int]]  # first and last + 1 sequence of each block

WIDTH_STEP = 8  # widths are multiples of it, to get few shapes
COST = 30_000  # overhead of a block on a CPU, in attention weights
GPU_COST = 2**21  # about 15 kernel launches
CPU_CACHE = 2**19  # maximum attention weights of a block on a CPU, to fit into its cache


@dataclass(frozen=True)
class Cells:
    """Queries, or keys and values, split by head: consecutive blocks [n, H, w]."""

    shapes: tuple[tuple[int, int], ...]  # n and w of each block
    source: Tensor  # int64 [cells], row of [N * H, K] of each cell; padding repeats a token
    back: Tensor  # int64 [N * H], cell of each row
    padding: Tensor  # int64, padding cells; without any, the blocks are consecutive tokens

    def map_tensors(self, move: Move) -> "Cells":
        return Cells(self.shapes, move(self.source), move(self.back), move(self.padding))


@dataclass(frozen=True)
class PaddedBlocks:
    """Blocks of queries and keys, and their attention masks."""

    heads: int
    queries: Cells
    keys: Cells
    # by attention window; per block float32 [n, 1, 1 or m, w], 0 or -inf, None: no mask
    biases: dict[int | None, tuple[Tensor | None, ...]]

    @property
    def tokens(self) -> int:
        """Number of tokens, N."""
        return len(self.keys.back) // self.heads

    @property
    def query_count(self) -> int:
        """Number of query tokens, M."""
        return len(self.queries.back) // self.heads

    def map_tensors(self, move: Move) -> "PaddedBlocks":
        biases = {
            window: tuple(None if bias is None else move(bias) for bias in biases)
            for window, biases in self.biases.items()
        }
        keys = self.keys.map_tensors(move)
        queries = keys if self.queries is self.keys else self.queries.map_tensors(move)
        return PaddedBlocks(self.heads, queries, keys, biases)


@dataclass(frozen=True)
class AttentionShape:
    """Settings of the network and the device that a plan depends on."""

    heads: int
    causal: bool = False
    windows: tuple[int | None, ...] = (None,)  # attention windows of the layers
    cost: int = COST  # overhead of a block, in attention weights
    max_weights: int = 0  # maximum attention weights of a block; 0: no limit
    nested: bool = False  # use kernels for nested tensors if possible
    multiple: int = 1  # token counts are padded to a multiple of this
    # only sequences of equal length share a block, so that none changes the rounding of another
    fixed_widths: bool = False


def plan_blocks(lengths: Ints, positions: Ints, shape: AttentionShape) -> PaddedBlocks:
    """Plan blocks of sequences in which all tokens are queries.

    Args:
        lengths: tokens of each sequence, int64 [B], ascending.
        positions: position of each token in its sequence, int64 [N].
    """
    cost, step = (0, 1) if shape.fixed_widths else (shape.cost, WIDTH_STEP)
    groups = group_lengths(lengths, shape.heads, shape.max_weights, cost, step)
    cells = _cells(lengths, groups, shape.heads)
    biases = {
        window: _biases(lengths, lengths, positions, groups, shape.causal, window)
        for window in shape.windows
    }
    return PaddedBlocks(shape.heads, cells, cells, biases)


def select_queries(
    rows: Ints, blocks: PaddedBlocks, lengths: Ints, positions: Ints, shape: AttentionShape
) -> PaddedBlocks:
    """The same blocks with only the tokens `rows` as queries: int64 [M] of N, ascending."""
    ends = np.cumsum([count for count, _ in blocks.keys.shapes]).tolist()
    groups = list(pairwise([0, *ends]))
    sequences = np.repeat(np.arange(len(lengths)), lengths)  # [N]
    counts = np.bincount(sequences[rows], minlength=len(lengths))
    biases = {  # bidirectional without window: the same for all queries
        window: biases
        if window is None and not shape.causal
        else _biases(lengths, counts, positions[rows], groups, shape.causal, window)
        for window, biases in blocks.biases.items()
    }
    return PaddedBlocks(shape.heads, _cells(counts, groups, shape.heads), blocks.keys, biases)


def group_lengths(
    lengths: Ints, heads: int, max_weights: int = 0, overhead: int = COST, step: int = WIDTH_STEP
) -> Groups:
    """Divide sequences into the blocks with the lowest total cost.

    A block costs its attention weights, with its width rounded up to a multiple of `step`, plus
    `overhead`.

    Args:
        lengths: tokens of each sequence, ascending.
        max_weights: maximum attention weights of a block, at least one sequence; 0: no limit.
    """
    widths = -(-lengths // step) * step
    ends = [*(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    best: dict[int, tuple[int, int]] = {0: (0, 0)}  # end of a group → (cost, start)
    for end in ends:
        weights = heads * int(widths[end - 1]) ** 2  # per sequence
        best[end] = min(
            (cost + (end - first) * weights + overhead, first) for first, (cost, _) in best.items()
        )
    groups, end = list[tuple[int, int]](), len(widths)
    while end:
        first = best[end][1]
        size = (
            max(1, max_weights // (heads * int(lengths[end - 1]) ** 2))
            if max_weights
            else end - first
        )
        groups += [(n, min(n + size, end)) for n in range(first, end, size)][::-1]
        end = first
    return groups[::-1]


def cumulative_lengths(lengths: Ints) -> Ints:
    """Start of each sequence, and the end of the last, int64 [B + 1]."""
    return np.concatenate([[0], np.cumsum(lengths)])


def _cells(counts: Ints, groups: Groups, heads: int) -> Cells:
    """Blocks of sequences with `counts` tokens each."""
    cu_seqlens = cumulative_lengths(counts)
    head = np.arange(heads)
    shapes, source, back, padding, before = [], [], [], [], 0
    for first, last in groups:
        block_counts = counts[first:last, None]  # [n, 1]
        n, max_seqlen = last - first, max(1, int(block_counts.max()))
        column = np.arange(max_seqlen)  # [w]
        token = cu_seqlens[first:last, None] + np.minimum(
            column, np.maximum(block_counts - 1, 0)
        )  # [n, w]
        token = np.minimum(token, max(0, int(cu_seqlens[-1]) - 1))
        source.append((token[:, None] * heads + head[:, None]).ravel())  # of [n, H, w]
        row = np.arange(n)[:, None, None] * heads + head  # [n, 1, H]
        cell = before + row * max_seqlen + column[:, None]  # [n, w, H]
        filled = column < block_counts  # [n, w]
        back.append(cell[filled].ravel())
        padding.append(cell[~filled].ravel())
        shapes.append((n, max_seqlen))
        before += n * heads * max_seqlen
    joined = (torch.from_numpy(np.concatenate(parts)) for parts in (source, back, padding))
    return Cells(tuple(shapes), *joined)


def _biases(
    lengths: Ints,
    counts: Ints,
    positions: Ints,
    groups: Groups,
    causal: bool,
    window: int | None,
) -> tuple[Tensor | None, ...]:
    """Score bias of each block: -inf if masked.

    Args:
        counts, positions: number of query tokens of each sequence, and their positions in it.
    """
    cu_seqlens = cumulative_lengths(counts)
    biases: list[Tensor | None] = []
    for first, last in groups:
        block_lengths, query_counts = lengths[first:last, None], counts[first:last, None]  # [n, 1]
        w = int(block_lengths.max())
        m = w if counts is lengths else max(1, int(query_counts.max()))
        masked = (np.arange(w) >= block_lengths)[:, None]  # [n, 1, w]
        if causal or window is not None:
            row = cu_seqlens[first:last, None] + np.minimum(
                np.arange(m), np.maximum(query_counts - 1, 0)
            )
            query = positions[np.minimum(row, len(positions) - 1)]  # [n, m]
            query = np.where(query_counts > 0, query, w)[..., None]  # unused
            if causal:
                masked = masked | (np.arange(w) > query)  # [n, m, w]
            if window is not None:
                far = np.abs(np.arange(w) - query) > window
                masked = masked | (far & (query_counts[..., None] > 0))
        if masked.any():
            bias = np.where(masked, np.float32("-inf"), np.float32(0))
            biases.append(torch.from_numpy(bias)[:, None])
        else:
            biases.append(None)
    return tuple(biases)
