"""Dropout that is quick on a processor.

torch draws a random number for each value there, which in a small network takes a good part of a
training step. Few values are dropped, so that it is less to draw how far it is from each of them
to the next: such gaps are distributed geometrically, whatever came before. A pass draws them for
many values at a time, since two threads wait for one another between short operations of NumPy.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

AT_ONCE = 2**18  # values for which gaps are drawn at a time, at the most: as many as fit a cache


@dataclass
class _Buffer:
    """What is dropped of a row of values, which are taken from its beginning on."""

    places: NDArray[np.int64]  # rising
    values: int
    taken: int = 0  # of the values
    passed: int = 0  # of the places

    def has(self, count: int) -> bool:
        return self.taken + count <= self.values

    def take(self, count: int) -> Tensor:
        """Which of the next `count` values are dropped."""
        first, begin = self.passed, self.taken
        self.taken += count
        self.passed = int(self.places.searchsorted(self.taken))
        return torch.from_numpy(self.places[first : self.passed] - begin)


class DropoutStream:
    """What dropout drops, which follows from a seed and from what was asked for before."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.Generator(np.random.SFC64(seed))
        self._ahead: dict[float, _Buffer] = {}  # by the share that is dropped

    def dropped(self, count: int, share: float) -> Tensor:
        """Which of `count` values are dropped where each is with a chance of `share`.

        Returns int64, rising. At first no more is drawn than is needed.
        """
        if count * share < 1e-9:
            return torch.empty(0, dtype=torch.int64)
        ahead = self._ahead.get(share)
        if ahead is None or not ahead.has(count):
            values = count if ahead is None else max(count, min(2 * ahead.values, AT_ONCE))
            ahead = self._ahead[share] = _Buffer(self._places(values, share), values)
        return ahead.take(count)

    def again(self) -> "DropoutStream":
        """Others that draw the same from here on."""
        made = copy(self)
        made._random = deepcopy(self._random)
        made._ahead = {share: copy(ahead) for share, ahead in self._ahead.items()}
        return made

    def _places(self, values: int, share: float) -> NDArray[np.int64]:
        """Where those are that are dropped, at least all of so many values.

        A gap is ⌊E / -ln(1 - share)⌋ with E from the exponential distribution: that many are kept.
        """
        expected = values * share
        number = int(expected + 6 * math.sqrt(expected)) + 8  # more once in a billion times
        found = list[NDArray[np.int64]]()
        last = -1
        while last < values:
            gaps = self._random.standard_exponential(number, dtype=np.float32)
            gaps *= -1 / math.log1p(-share)
            places = gaps.astype(np.int64)
            places += 1
            places[0] += last
            found.append(np.add.accumulate(places, out=places))
            last = int(places[-1])
        return found[0] if len(found) == 1 else np.concatenate(found)


class _Source(threading.local):
    """Where the draws of a thread come from."""

    draws: DropoutStream | None = None  # None: each is seeded from torch's random state


_source = _Source()


def dropout_seed(seed: int) -> AbstractContextManager[None]:
    """Let this thread draw by itself for the block, whatever others draw meanwhile."""
    return _use_stream(DropoutStream(seed))


def replay_contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """For what is computed now, and for when it is computed again: both draw the same."""
    draws = _current_stream()
    return _use_stream(draws), _use_stream(draws.again())


@contextmanager
def _use_stream(draws: DropoutStream) -> Iterator[None]:
    before, _source.draws = _source.draws, draws
    try:
        yield
    finally:
        _source.draws = before


def _current_stream() -> DropoutStream:
    return _source.draws or DropoutStream(int(torch.randint(2**62, ())))


def dropped_indices(count: int, share: float) -> Tensor:
    """Which of `count` values are dropped where each is with a chance of `share`: int64, rising."""
    return _current_stream().dropped(count, share)


class Dropout(nn.Dropout):
    """Set a share `p` of the values to zero while training, and scale the others up to make up."""

    def forward(self, x: Tensor) -> Tensor:
        if not self._is_quick(x):
            return super().forward(x)
        found: Tensor = _Drop.apply(x, None, dropped_indices(x.numel(), self.p), 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return found

    def add_to(self, residual: Tensor, x: Tensor) -> Tensor:
        """residual + what is left of x, both float […]: in fewer operations where it is quick."""
        if not self.training:
            return residual + x
        if not self._is_quick(x):
            return residual + super().forward(x)
        dropped = dropped_indices(x.numel(), self.p)
        found: Tensor = _Drop.apply(x, residual, dropped, 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return found

    def _is_quick(self, x: Tensor) -> bool:
        return self.training and self.p > 0 and x.device.type == "cpu"


class _Drop(torch.autograd.Function):
    """The same on the way back: linear in what comes in."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, residual: Tensor | None, dropped: Tensor, scale: float
    ) -> Tensor:
        ctx.save_for_backward(dropped)
        ctx.scale, ctx.dtype, ctx.adds = scale, x.dtype, residual is not None
        left = _dropped(x, dropped, scale)
        if residual is None:
            return left
        return left.add_(residual) if left.dtype == residual.dtype else residual + left

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        (dropped,) = ctx.saved_tensors
        to_x = gradient if gradient.dtype == ctx.dtype else gradient.to(ctx.dtype)
        to_residual = gradient if ctx.adds else None
        return _dropped(to_x, dropped, ctx.scale), to_residual, None, None


def _dropped(x: Tensor, dropped: Tensor, scale: float) -> Tensor:
    left = (x if x.is_contiguous() else x.contiguous()).mul(scale)
    left.view(-1).index_fill_(0, dropped, 0)
    return left
