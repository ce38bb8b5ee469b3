"""Fast dropout on a CPU.

torch draws a random number per value, which takes a good part of the training step of a small
network. As few values are dropped, it is cheaper to draw the gaps between them, which are
geometrically distributed. Gaps are drawn for many values at a time, since two threads contend for
the GIL between short NumPy operations.
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

AT_ONCE = 2**18  # maximum number of values drawn at a time; fits into the cache


@dataclass
class _Buffer:
    """Dropped indices of a range of values, consumed from the start."""

    places: NDArray[np.int64]  # ascending
    values: int
    taken: int = 0  # consumed values
    passed: int = 0  # consumed places

    def has(self, count: int) -> bool:
        return self.taken + count <= self.values

    def take(self, count: int) -> Tensor:
        """Dropped indices of the next `count` values."""
        first, begin = self.passed, self.taken
        self.taken += count
        self.passed = int(self.places.searchsorted(self.taken))
        return torch.from_numpy(self.places[first : self.passed] - begin)


class DropoutStream:
    """Reproducible stream of dropped indices from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.Generator(np.random.SFC64(seed))
        self._ahead: dict[float, _Buffer] = {}  # by dropout probability

    def dropped(self, count: int, share: float) -> Tensor:
        """Dropped indices of `count` values with probability `share`: int64, ascending.

        The first call draws no more than needed.
        """
        if count * share < 1e-9:
            return torch.empty(0, dtype=torch.int64)
        ahead = self._ahead.get(share)
        if ahead is None or not ahead.has(count):
            values = count if ahead is None else max(count, min(2 * ahead.values, AT_ONCE))
            ahead = self._ahead[share] = _Buffer(self._places(values, share), values)
        return ahead.take(count)

    def again(self) -> "DropoutStream":
        """Copy that continues with the same draws."""
        copied = copy(self)
        copied._random = deepcopy(self._random)
        copied._ahead = {rate: copy(ahead) for rate, ahead in self._ahead.items()}
        return copied

    def _places(self, values: int, share: float) -> NDArray[np.int64]:
        """Dropped indices of at least `values` values.

        A gap is ⌊E / -ln(1 - share)⌋ kept values, with E from the exponential distribution.
        """
        expected = values * share
        number = int(expected + 6 * math.sqrt(expected)) + 8  # exceeded once in a billion times
        parts = list[NDArray[np.int64]]()
        last = -1
        while last < values:
            gaps = self._random.standard_exponential(number, dtype=np.float32)
            gaps *= -1 / math.log1p(-share)
            indices = gaps.astype(np.int64)
            indices += 1
            indices[0] += last
            parts.append(np.add.accumulate(indices, out=indices))
            last = int(indices[-1])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Source(threading.local):
    """Stream of the current thread."""

    draws: DropoutStream | None = None  # None: seeded from torch's random state per call


_source = _Source()


def dropout_seed(seed: int) -> AbstractContextManager[None]:
    """Use a stream of its own for this thread within the block."""
    return _use_stream(DropoutStream(seed))


def replay_contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts for a forward pass and its recomputation, with the same draws."""
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
    """Dropped indices of `count` values with probability `share`: int64, ascending."""
    return _current_stream().dropped(count, share)


class Dropout(nn.Dropout):
    """torch's dropout, faster on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        if not self._is_quick(x):
            return super().forward(x)
        dropped: Tensor = _Drop.apply(x, None, dropped_indices(x.numel(), self.p), 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return dropped

    def add_to(self, residual: Tensor, x: Tensor) -> Tensor:
        """residual + dropout(x), both float […]; fused on a CPU."""
        if not self.training:
            return residual + x
        if not self._is_quick(x):
            return residual + super().forward(x)
        dropped = dropped_indices(x.numel(), self.p)
        dropped_sum: Tensor = _Drop.apply(x, residual, dropped, 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return dropped_sum

    def _is_quick(self, x: Tensor) -> bool:
        return self.training and self.p > 0 and x.device.type == "cpu"


class _Drop(torch.autograd.Function):
    """Backward applies the same mask and scale."""

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
