"""Fast dropout on a CPU.

torch draws a random number per value, which takes a large part of the training step of a small
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

MAX_DRAW = 2**18  # values; fits into the cache


@dataclass
class _Buffer:
    """Dropped indices of a range of values, consumed from the start."""

    indices: NDArray[np.int64]  # ascending
    values: int
    used_values: int = 0
    used_indices: int = 0

    def has(self, count: int) -> bool:
        return self.used_values + count <= self.values

    def take(self, count: int) -> Tensor:
        """Dropped indices of the next `count` values."""
        first, start = self.used_indices, self.used_values
        self.used_values += count
        self.used_indices = int(self.indices.searchsorted(self.used_values))
        return torch.from_numpy(self.indices[first : self.used_indices] - start)


class DropoutStream:
    """Reproducible stream of dropped indices from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.Generator(np.random.SFC64(seed))
        self._buffers: dict[float, _Buffer] = {}  # by dropout probability

    def draw(self, count: int, p: float) -> Tensor:
        """Dropped indices of `count` values with probability `p`: int64, ascending.

        The first call draws no more than needed.
        """
        if count * p < 1e-9:
            return torch.empty(0, dtype=torch.int64)
        buffer = self._buffers.get(p)
        if buffer is None or not buffer.has(count):
            values = count if buffer is None else max(count, min(2 * buffer.values, MAX_DRAW))
            buffer = self._buffers[p] = _Buffer(self._draw_indices(values, p), values)
        return buffer.take(count)

    def clone(self) -> "DropoutStream":
        """Copy that continues with the same draws."""
        copied = copy(self)
        copied._random = deepcopy(self._random)
        copied._buffers = {rate: copy(buffer) for rate, buffer in self._buffers.items()}
        return copied

    def _draw_indices(self, values: int, p: float) -> NDArray[np.int64]:
        """Dropped indices of at least `values` values.

        A gap is ⌊E / -ln(1 - p)⌋ kept values, with E from the exponential distribution.
        """
        expected = values * p
        size = int(expected + 6 * math.sqrt(expected)) + 8  # exceeded once in a billion times
        parts = list[NDArray[np.int64]]()
        last = -1
        while last < values:
            gaps = self._random.standard_exponential(size, dtype=np.float32)
            gaps *= -1 / math.log1p(-p)
            indices = gaps.astype(np.int64)
            indices += 1
            indices[0] += last
            parts.append(np.add.accumulate(indices, out=indices))
            last = int(indices[-1])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Source(threading.local):
    """Stream of the current thread."""

    stream: DropoutStream | None = None  # None: seeded from torch's random state per call


_source = _Source()


def dropout_seed(seed: int) -> AbstractContextManager[None]:
    """Use a separate stream in this thread within the block."""
    return _use_stream(DropoutStream(seed))


def replay_contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts for a forward pass and its recomputation, with the same draws."""
    stream = _current_stream()
    return _use_stream(stream), _use_stream(stream.clone())


@contextmanager
def _use_stream(stream: DropoutStream) -> Iterator[None]:
    before, _source.stream = _source.stream, stream
    try:
        yield
    finally:
        _source.stream = before


def _current_stream() -> DropoutStream:
    return _source.stream or DropoutStream(int(torch.randint(2**62, ())))


def dropped_indices(count: int, p: float) -> Tensor:
    """Dropped indices of `count` values with probability `p`: int64, ascending."""
    return _current_stream().draw(count, p)


class Dropout(nn.Dropout):
    """torch's dropout, faster on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        if not self._is_fast(x):
            return super().forward(x)
        dropped: Tensor = _Drop.apply(x, None, dropped_indices(x.numel(), self.p), 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return dropped

    def add_to(self, residual: Tensor, x: Tensor) -> Tensor:
        """residual + dropout(x), both float […]; fused on a CPU."""
        if not self.training:
            return residual + x
        if not self._is_fast(x):
            return residual + super().forward(x)
        dropped = dropped_indices(x.numel(), self.p)
        dropped_sum: Tensor = _Drop.apply(x, residual, dropped, 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return dropped_sum

    def _is_fast(self, x: Tensor) -> bool:
        return self.training and self.p > 0 and x.device.type == "cpu"


class _Drop(torch.autograd.Function):
    """Dropout of given indices; the backward pass applies the same mask and scale."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, residual: Tensor | None, dropped: Tensor, scale: float
    ) -> Tensor:
        ctx.save_for_backward(dropped)
        ctx.scale, ctx.dtype, ctx.adds = scale, x.dtype, residual is not None
        out = _drop(x, dropped, scale)
        if residual is None:
            return out
        return out.add_(residual) if out.dtype == residual.dtype else residual + out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        (dropped,) = ctx.saved_tensors
        to_x = gradient if gradient.dtype == ctx.dtype else gradient.to(ctx.dtype)
        to_residual = gradient if ctx.adds else None
        return _drop(to_x, dropped, ctx.scale), to_residual, None, None


def _drop(x: Tensor, dropped: Tensor, scale: float) -> Tensor:
    out = (x if x.is_contiguous() else x.contiguous()).mul(scale)
    out.view(-1).index_fill_(0, dropped, 0)
    return out
