"""In-place accumulation of weight gradients.

torch computes a weight gradient in new memory and then adds it, which for a large network moves as
much memory per step as the optimiser. Here a product is added while it is computed (GEMM with β =
1).

Two threads may compute half of a batch each. They add to a weight in turns, since a rounded sum
depends on the order. A thread never waits: an early addend is queued. The first turn alternates
from weight to weight, so that the threads seldom want the same one.

The whole gradient of a weight in a pass must be added here, none of it by autograd.

Shapes: N tokens, I inputs, O outputs.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

Addend = Callable[[Tensor | None], Tensor]  # gradient so far (or None) → sum


class GradientSum:
    """Gradients of one pass, or of two halves of it."""

    def __init__(self, indices: Mapping[Tensor, int], halves: int = 1) -> None:
        """`indices`, from `index_weights`, decide which half adds first to a weight."""
        self._indices, self._halves = indices, halves
        self._turns: dict[Tensor, _Turns] = {}

    def turns(self, weight: Tensor) -> "_Turns":
        """Return the turns of a weight, or create them."""
        turns = self._turns.get(weight)
        if turns is None:
            new = _Turns(weight, self._halves, self._indices[weight] % self._halves)
            turns = self._turns.setdefault(weight, new)  # atomic: the other half may be first
        return turns

    @contextmanager
    def half(self, index: int = 0) -> Iterator[None]:
        """Assign the passes of this thread within the block to one half."""
        before, _thread.half = _thread.half, Half(self, index)
        try:
            yield
        finally:
            _thread.half = before

    @torch.no_grad()
    def finish(self) -> None:
        """Add the remaining queue, after all halves are done."""
        for turns in self._turns.values():
            while any(turns.queues):
                if turns.queues[turns.next]:
                    turns.take()
                else:
                    turns.skip()


def index_weights(parameters: Iterable[Tensor]) -> dict[Tensor, int]:
    """Index of each matrix among the parameters."""
    weights = (parameter for parameter in parameters if parameter.dim() > 1)
    return {weight: index for index, weight in enumerate(weights)}


class _Turns:
    """Addends of one weight by half; only the half whose turn it is may add."""

    def __init__(self, weight: Tensor, halves: int, first: int) -> None:
        self.weight = weight
        self.queues = [deque[Addend]() for _ in range(halves)]
        self.next = first

    def take(self) -> None:
        addend = self.queues[self.next].popleft()
        self.weight.grad = addend(self.weight.grad)
        self.skip()

    def skip(self) -> None:
        self.next = (self.next + 1) % len(self.queues)


class Half:
    """One half of a pass, computed by one thread."""

    def __init__(self, gradients: GradientSum, index: int) -> None:
        self._gradients, self._index = gradients, index
        self._queued = list[_Turns]()  # weights with queued addends

    def is_next(self, weight: Tensor) -> bool:
        """True if this half may add to the weight now."""
        return self._gradients.turns(weight).next == self._index

    @torch.no_grad()
    def add(self, weight: Tensor, addend: Addend) -> None:
        """Add to the gradient of a weight, now or later."""
        current = self._gradients.turns(weight)
        current.queues[self._index].append(addend)
        self._queued = [turns for turns in (*self._queued, current) if not self._try_take(turns)]

    def _try_take(self, turns: _Turns) -> bool:
        if turns.next != self._index:
            return False
        turns.take()
        return True


class _Thread(threading.local):
    half: Half | None = None


_thread = _Thread()


def current_half() -> Half | None:
    """Half that accumulates the gradients of this thread; None: autograd."""
    return _thread.half if torch.is_grad_enabled() else None


class GradientBuffer:
    """Gradient memory reused from step to step, as new memory costs more than the sum.

    The memory is free as soon as the weight has no gradient.
    """

    def __init__(self) -> None:
        self._memory: Tensor | None = None

    def like(self, weight: Tensor) -> Tensor:
        """Uninitialised memory for the gradient of a weight."""
        if self._memory is None or self._memory.shape != weight.shape:
            self._memory = torch.empty_like(weight)
        return self._memory


def add_product(gradient: Tensor | None, to_output: Tensor, x: Tensor) -> Tensor:
    """gradient + to_outputᵀ x, in place; float [O, I], [N, O] and [N, I]."""
    if gradient is None:
        return to_output.mT @ x
    return gradient.addmm_(to_output.mT, x)
