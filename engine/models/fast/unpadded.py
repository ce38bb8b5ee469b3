"""A batch without its padding: the real tokens of all sequences one after another.

All that works on each token by itself takes them as one matrix [N, D]. Attention alone has to know
which tokens are of one sequence: for it, they are gathered into few rectangles of sequences of
about the same length.

Shapes: B sequences, T tokens in each, N real tokens of all, M of them that ask, D width, H heads,
K width of a head; n sequences of w tokens (m that ask) in a rectangle.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ints = NDArray[np.int64]

STEP = 8  # widths of rectangles are multiples of it: few shapes
COST = 6_000  # weights of attention that take as long as what every further rectangle costs
MOST = 2**19  # weights in a rectangle on a processor, so that they stay in its cache


@dataclass(frozen=True)
class Cells:
    """One side of attention, cut by heads, in rectangles [n, H, w] that lie one after another."""

    shapes: tuple[tuple[int, int], ...]  # n and w of each rectangle
    source: Tensor  # int64 [cells], the row of [N * H, K] in each; padding repeats a real one
    back: Tensor  # int64 [N * H], the cell of each row
    padding: Tensor  # int64, the cells that are padding

    def to(self, device: torch.device) -> "Cells":
        return Cells(self.shapes, *(t.to(device) for t in (self.source, self.back, self.padding)))


@dataclass(frozen=True)
class Unpadded:
    """Where the tokens of a batch lie, and how they attend."""

    places: Tensor  # int64 [N], places in the flattened [B * T]
    heads: int
    keys: Cells
    queries: Cells
    biases: tuple[Tensor | None, ...]  # of each rectangle, float32 [n, 1, 1 or m, w], 0 or -inf
    rows: Tensor | None = None  # int64 [M], which of the N ask, in the order of their sequences;
    # None: all
    order: Tensor | None = None  # int64 [M], where in these rows each asked place is


def ragged(
    real: Tensor, heads: int, causal: bool = False, asked: Tensor | None = None
) -> tuple[Unpadded, Unpadded]:
    """How the layers see a batch: all but the last one, and the last one.

    Args:
        real: bool [B, T], False on padding.
        causal: no token looks at a later one.
        asked: int64 [M], the places in [B * T] whose vectors are wanted of the last layer, real
            ones; None: all.
    """
    device = real.device
    table: NDArray[np.bool_] = real.cpu().numpy()
    lengths: Ints = table.sum(1)
    order = np.argsort(lengths, kind="stable")  # as a training batch is sorted already
    width = table.shape[1]
    places = (order[:, None] * width + np.arange(width))[table[order]]  # [N]
    lengths = lengths[order]
    most = MOST if device.type == "cpu" else 0
    groups = grouped(lengths, heads, most)
    keys = _cells(lengths, groups, heads)
    within = np.concatenate([np.arange(length) for length in lengths])  # [N], place in its sequence
    everything = Unpadded(
        torch.from_numpy(places).to(device),
        heads,
        keys.to(device),
        keys.to(device),
        _biases(lengths, lengths, within, groups, causal, device),
    )
    if asked is None or 2 * len(asked) > len(places):
        return everything, everything
    number = np.zeros(table.size, dtype=np.int64)
    number[places] = np.arange(len(places))
    wanted = number[asked.cpu().numpy()]
    rows = np.sort(wanted)
    back = np.empty_like(wanted)
    back[np.argsort(wanted, kind="stable")] = np.arange(len(wanted))
    sequence = np.repeat(np.arange(len(lengths)), lengths)  # [N]
    counts = np.bincount(sequence[rows], minlength=len(lengths))
    last = replace(
        everything,
        queries=_cells(counts, groups, heads).to(device),
        biases=_biases(lengths, counts, within[rows], groups, causal, device),
        rows=torch.from_numpy(rows).to(device),
        order=torch.from_numpy(back).to(device),
    )
    return everything, last


def grouped(lengths: Ints, heads: int, most: int = 0) -> list[tuple[int, int]]:
    """The rectangles that take the least time together: where each begins and ends.

    A rectangle costs its weights of attention, and `COST`.

    Args:
        lengths: tokens of each sequence, rising.
        most: weights of attention in a rectangle, at least one sequence; 0 means any number.
    """
    widths = -(-lengths // STEP) * STEP
    ends = [*(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    best: dict[int, tuple[int, int]] = {0: (0, 0)}  # by the end of a part: cost, and its beginning
    for end in ends:
        weights = heads * int(widths[end - 1]) ** 2  # of each sequence
        best[end] = min(
            (cost + (end - first) * weights + COST, first) for first, (cost, _) in best.items()
        )
    found, end = list[tuple[int, int]](), len(widths)
    while end:
        first = best[end][1]
        at_once = max(1, most // (heads * int(lengths[end - 1]) ** 2)) if most else end - first
        found += [(n, min(n + at_once, end)) for n in range(first, end, at_once)][::-1]
        end = first
    return found[::-1]


def _cells(counts: Ints, groups: list[tuple[int, int]], heads: int) -> Cells:
    """The rectangles of sequences that have so many tokens each."""
    starts = np.cumsum(counts) - counts
    head = np.arange(heads)
    shapes, source, back, padding, before = [], [], [], [], 0
    for first, last in groups:
        some = counts[first:last, None]  # [n, 1]
        n, w = last - first, max(1, int(some.max()))
        place = np.arange(w)  # [w]
        token = starts[first:last, None] + np.minimum(place, np.maximum(some - 1, 0))  # [n, w]
        token = np.minimum(token, max(0, int(counts.sum()) - 1))
        source.append((token[:, None] * heads + head[:, None]).ravel())  # of [n, H, w]
        row = np.arange(n)[:, None, None] * heads + head  # [n, 1, H]
        cell = before + row * w + place[:, None]  # [n, w, H]
        filled = place < some  # [n, w]
        back.append(cell[filled].ravel())
        padding.append(cell[~filled].ravel())
        shapes.append((n, w))
        before += n * heads * w
    joined = (torch.from_numpy(np.concatenate(parts)) for parts in (source, back, padding))
    return Cells(tuple(shapes), *joined)


def _biases(
    lengths: Ints,
    counts: Ints,
    within: Ints,
    groups: list[tuple[int, int]],
    causal: bool,
    device: torch.device,
) -> tuple[Tensor | None, ...]:
    """What is added to the scores of each rectangle: -inf where a token may not look.

    Args:
        counts: how many tokens of each sequence ask; `within`: where in it each of them is.
    """
    starts = np.cumsum(counts) - counts
    found: list[Tensor | None] = []
    for first, last in groups:
        some, asking = lengths[first:last, None], counts[first:last, None]  # [n, 1]
        w, m = int(some.max()), max(1, int(asking.max()))
        hidden = (np.arange(w) >= some)[:, None]  # [n, 1, w]
        if causal:
            number = starts[first:last, None] + np.minimum(np.arange(m), np.maximum(asking - 1, 0))
            place = within[np.minimum(number, len(within) - 1)]  # [n, m]
            place = np.where(asking > 0, place, w)  # nothing of it is read
            hidden = hidden | (np.arange(w) > place[..., None])  # [n, m, w]
        bias = torch.zeros(hidden.shape).masked_fill_(torch.from_numpy(hidden), float("-inf"))
        found.append(bias[:, None].to(device) if hidden.any() else None)
    return tuple(found)
