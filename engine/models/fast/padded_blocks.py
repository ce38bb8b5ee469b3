"""The sequences of an unpadded batch in a few rectangles, in which attention is computed.

Attention alone has to know which tokens are of one sequence. For it, sequences of about the same
length are gathered into one rectangle, so that there are few of them and little padding in them.
All of it is worked out on the host, from the lengths of the sequences.

Shapes: N tokens of all sequences, M of them that are wanted, H heads, K size of a head; n sequences
of w tokens (m that are wanted) in a rectangle.
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
Groups = list[tuple[int, int]]  # first sequence of each rectangle, and the one after its last

STEP = 8  # widths of rectangles are multiples of it: few shapes
COST = 30_000  # weights of attention that take as long as what every further rectangle costs
COST_ON_GPU = 2**21  # there it costs the host some 15 launches
CACHED = 2**19  # weights in a rectangle on a processor at the most, so that they stay in its cache


@dataclass(frozen=True)
class Cells:
    """Queries, or keys and values, cut by heads: rectangles [n, H, w] one after another."""

    shapes: tuple[tuple[int, int], ...]  # n and w of each rectangle
    source: Tensor  # int64 [cells], the row of [N * H, K] in each; padding repeats a real one
    back: Tensor  # int64 [N * H], the cell of each row
    padding: Tensor  # int64, the cells that are padding

    def map_tensors(self, move: Move) -> "Cells":
        return Cells(self.shapes, move(self.source), move(self.back), move(self.padding))


@dataclass(frozen=True)
class PaddedBlocks:
    """Where the queries and keys of a batch are gathered, and which may attend to which."""

    heads: int
    queries: Cells
    keys: Cells
    biases: dict[int | None, tuple[Tensor | None, ...]]  # by the window of a layer, of each
    # rectangle: float32 [n, 1, 1 or m, w], 0 or -inf; None: all may attend to all

    @property
    def tokens(self) -> int:
        """N"""
        return len(self.keys.back) // self.heads

    @property
    def asking(self) -> int:
        """M"""
        return len(self.queries.back) // self.heads

    def map_tensors(self, move: Move) -> "PaddedBlocks":
        biases = {
            window: tuple(None if bias is None else move(bias) for bias in found)
            for window, found in self.biases.items()
        }
        keys = self.keys.map_tensors(move)
        queries = keys if self.queries is self.keys else self.queries.map_tensors(move)
        return PaddedBlocks(self.heads, queries, keys, biases)


@dataclass(frozen=True)
class AttentionShape:
    """What rectangles depend on besides the lengths: the network, and where it computes."""

    heads: int
    causal: bool = False
    windows: tuple[int | None, ...] = (None,)  # of the attention of its layers
    cost: int = COST  # of a further rectangle, in weights of attention
    largest: int = 0  # weights of attention in a rectangle; 0: any number
    nested: bool = False  # by the library's kernels for any lengths, where they can
    multiple: int = 1  # what works on each token by itself sees a multiple of so many


def plan_blocks(lengths: Ints, positions: Ints, shape: AttentionShape) -> PaddedBlocks:
    """The rectangles of sequences in which all tokens are wanted.

    Args:
        lengths: tokens of each sequence, int64 [B], rising.
        positions: int64 [N], of each token in its sequence.
    """
    groups = group_lengths(lengths, shape.heads, shape.largest, shape.cost)
    cells = _cells(lengths, groups, shape.heads)
    biases = {
        window: _biases(lengths, lengths, positions, groups, shape.causal, window)
        for window in shape.windows
    }
    return PaddedBlocks(shape.heads, cells, cells, biases)


def select_queries(
    rows: Ints, whole: PaddedBlocks, lengths: Ints, positions: Ints, shape: AttentionShape
) -> PaddedBlocks:
    """The same rectangles where only the tokens `rows` are wanted: int64 [M] of N, rising."""
    ends = np.cumsum([count for count, _ in whole.keys.shapes]).tolist()
    groups = list(pairwise([0, *ends]))
    sequences = np.repeat(np.arange(len(lengths)), lengths)  # [N]
    counts = np.bincount(sequences[rows], minlength=len(lengths))
    biases = {  # without a direction and a window it is the same for all queries
        window: found
        if window is None and not shape.causal
        else _biases(lengths, counts, positions[rows], groups, shape.causal, window)
        for window, found in whole.biases.items()
    }
    return PaddedBlocks(shape.heads, _cells(counts, groups, shape.heads), whole.keys, biases)


def group_lengths(lengths: Ints, heads: int, largest: int = 0, each: int = COST) -> Groups:
    """The rectangles that take the least time together: where each begins and ends.

    A rectangle costs its weights of attention, and `each`.

    Args:
        lengths: tokens of each sequence, rising.
        largest: weights of attention in a rectangle, at least one sequence; 0: any number.
    """
    widths = -(-lengths // STEP) * STEP
    ends = [*(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    best: dict[int, tuple[int, int]] = {0: (0, 0)}  # by the end of a group: cost, and its beginning
    for end in ends:
        weights = heads * int(widths[end - 1]) ** 2  # of each sequence
        best[end] = min(
            (cost + (end - first) * weights + each, first) for first, (cost, _) in best.items()
        )
    found, end = list[tuple[int, int]](), len(widths)
    while end:
        first = best[end][1]
        at_once = (
            max(1, largest // (heads * int(lengths[end - 1]) ** 2)) if largest else end - first
        )
        found += [(n, min(n + at_once, end)) for n in range(first, end, at_once)][::-1]
        end = first
    return found[::-1]


def cumulative_lengths(lengths: Ints) -> Ints:
    """Where each sequence begins among all tokens, and where the last one ends, int64 [B + 1]."""
    return np.concatenate([[0], np.cumsum(lengths)])


def _cells(counts: Ints, groups: Groups, heads: int) -> Cells:
    """The rectangles of sequences that have so many tokens each."""
    cu_seqlens = cumulative_lengths(counts)
    head = np.arange(heads)
    shapes, source, back, padding, before = [], [], [], [], 0
    for first, last in groups:
        some = counts[first:last, None]  # [n, 1]
        n, max_seqlen = last - first, max(1, int(some.max()))
        column = np.arange(max_seqlen)  # [w]
        token = cu_seqlens[first:last, None] + np.minimum(column, np.maximum(some - 1, 0))  # [n, w]
        token = np.minimum(token, max(0, int(cu_seqlens[-1]) - 1))
        source.append((token[:, None] * heads + head[:, None]).ravel())  # of [n, H, w]
        row = np.arange(n)[:, None, None] * heads + head  # [n, 1, H]
        cell = before + row * max_seqlen + column[:, None]  # [n, w, H]
        filled = column < some  # [n, w]
        back.append(cell[filled].ravel())
        padding.append(cell[~filled].ravel())
        shapes.append((n, max_seqlen))
        before += n * heads * max_seqlen
    joined = (torch.from_numpy(np.concatenate(parts)) for parts in (source, back, padding))
    return Cells(tuple(shapes), *joined)


def _biases(
    lengths: Ints, counts: Ints, positions: Ints, groups: Groups, causal: bool, window: int | None
) -> tuple[Tensor | None, ...]:
    """What is added to the scores of each rectangle: -inf where a token may not attend.

    Args:
        counts: how many tokens of each sequence are wanted; `positions`: where in it each of them
            stands.
    """
    cu_seqlens = cumulative_lengths(counts)
    found: list[Tensor | None] = []
    for first, last in groups:
        some, wanted = lengths[first:last, None], counts[first:last, None]  # [n, 1]
        w, m = int(some.max()), max(1, int(wanted.max()))
        masked = (np.arange(w) >= some)[:, None]  # [n, 1, w]
        if causal or window is not None:
            number = cu_seqlens[first:last, None] + np.minimum(
                np.arange(m), np.maximum(wanted - 1, 0)
            )
            query = positions[np.minimum(number, len(positions) - 1)]  # [n, m]
            query = np.where(wanted > 0, query, w)[..., None]  # nothing of it is read
            if causal:
                masked = masked | (np.arange(w) > query)  # [n, m, w]
            if window is not None:
                far = np.abs(np.arange(w) - query) > window
                masked = masked | (far & (wanted[..., None] > 0))
        if masked.any():
            bias = np.where(masked, np.float32("-inf"), np.float32(0))
            found.append(torch.from_numpy(bias)[:, None])
        else:
            found.append(None)
    return tuple(found)
