"""Dropout that is quick on a processor.

torch draws a random number for each value there, which in a small network takes a good part of a
training step. Few values are dropped, so that it is less to draw how far it is from each of them
to the next: such gaps are distributed geometrically, whatever came before.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


class _Source(threading.local):
    """Where the draws of a thread come from."""

    draws: np.random.Generator | None = None  # None: each is seeded from torch's random state


_source = _Source()


def dropout_seed(seed: int) -> AbstractContextManager[None]:
    """Let this thread draw by itself for the block, whatever others draw meanwhile."""
    return _drawing_from(_seeded(seed))


def the_same_again() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """For what is computed now, and for when it is computed again: both draw the same."""
    draws = _draws()
    return _drawing_from(draws), _drawing_from(deepcopy(draws))


@contextmanager
def _drawing_from(draws: np.random.Generator) -> Iterator[None]:
    before, _source.draws = _source.draws, draws
    try:
        yield
    finally:
        _source.draws = before


def _draws() -> np.random.Generator:
    return _source.draws or _seeded(int(torch.randint(2**62, ())))


def _seeded(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


class Dropout(nn.Dropout):
    """Set a share `p` of the values to zero while training, and scale the others up to make up."""

    def forward(self, x: Tensor) -> Tensor:
        if not self._is_quick(x):
            return super().forward(x)
        found: Tensor = _Drop.apply(x, None, dropped_indices(x.numel(), self.p), 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return found

    def added(self, residual: Tensor, x: Tensor) -> Tensor:
        """residual + what is left of x, both float […]: in fewer operations where it is quick."""
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


def dropped_indices(count: int, share: float) -> Tensor:
    """Which of `count` values are dropped where each is with a chance of `share`: int64, rising.

    By NumPy, whose operations are begun in a third of the time: most of these are short.
    """
    expected = count * share
    if expected < 1e-9:
        return torch.empty(0, dtype=torch.int64)
    draws = _draws()
    number = int(expected + 6 * math.sqrt(expected)) + 8  # more are needed once in a billion times
    found = list[np.ndarray]()
    last = -1
    while last < count:
        gaps = draws.random(number, dtype=np.float32)
        np.subtract(1, gaps, out=gaps)  # in (0, 1]
        np.log(gaps, out=gaps)
        gaps /= math.log1p(-share)
        np.minimum(gaps, count, out=gaps)
        places = gaps.astype(np.int64)
        places += 1
        places[0] += last
        found.append(np.cumsum(places, out=places))
        last = int(places[-1])
    places = found[0] if len(found) == 1 else np.concatenate(found)
    return torch.from_numpy(places[: np.searchsorted(places, count)])
