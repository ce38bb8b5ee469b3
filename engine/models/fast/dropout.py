"""Dropout that is quick on a processor.

torch draws a random number for each value there, which in a small network takes a good part of a
training step. Few values are dropped, so that it is less to draw how far it is from each of them
to the next: such gaps are distributed geometrically, whatever came before.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn


class _Source(threading.local):
    """Where the draws of a thread come from."""

    generator = torch.default_generator


_source = _Source()


@contextmanager
def dropout_seed(seed: int) -> Iterator[None]:
    """Let this thread draw by itself for the block, whatever others draw meanwhile."""
    _source.generator = torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        _source.generator = torch.default_generator


def the_same_again() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """For what is computed now, and for when it is computed again: both draw the same."""
    generator = _source.generator
    return nullcontext(), _as_of(generator, generator.get_state())


@contextmanager
def _as_of(generator: torch.Generator, state: Tensor) -> Iterator[None]:
    now = generator.get_state()
    generator.set_state(state)
    try:
        yield
    finally:
        generator.set_state(now)


class Dropout(nn.Dropout):
    """Set a share `p` of the values to zero while training, and scale the others up to make up."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0 or x.device.type != "cpu":
            return super().forward(x)
        found: Tensor = _Drop.apply(x, dropped_indices(x.numel(), self.p), 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return found


class _Drop(torch.autograd.Function):
    """The same on the way back: linear in what comes in."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(dropped)
        ctx.scale = scale
        return _dropped(x, dropped, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (dropped,) = ctx.saved_tensors
        return _dropped(gradient, dropped, ctx.scale), None, None


def _dropped(x: Tensor, dropped: Tensor, scale: float) -> Tensor:
    return x.contiguous().mul(scale).view(-1).index_fill_(0, dropped, 0).view(x.shape)


def dropped_indices(count: int, share: float) -> Tensor:
    """Which of `count` values are dropped where each is with a chance of `share`: int64, rising.

    From torch's random state on the processor, or within `dropout_seed` from the thread's own.
    """
    if not share or not count:
        return torch.empty(0, dtype=torch.int64)
    expected = count * share
    draws = int(expected + 6 * math.sqrt(expected)) + 8  # more are needed once in a billion times
    found = list[Tensor]()
    last = -1
    while last < count:
        chances = torch.rand(draws, generator=_source.generator).neg_().add_(1)  # in (0, 1]
        gaps = chances.log_().div_(math.log1p(-share)).floor_()
        steps = gaps.clamp_(max=count).to(torch.int64).add_(1)
        found.append(steps.cumsum_(0).add_(last))
        last = int(found[-1][-1])
    indices = found[0] if len(found) == 1 else torch.cat(found)
    return indices[: int(torch.searchsorted(indices, count))]
