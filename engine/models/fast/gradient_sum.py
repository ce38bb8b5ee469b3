"""Gradients of weights, added up where they are.

torch's way back makes the gradient of a weight in fresh memory and then adds it to the one that is
there, for which a step of a large network reads and writes as much as its optimiser does. Here a
product is added while it is computed (GEMM with β = 1).

Two threads may go through half of a batch each. What they add to a weight is added in turns, since
a sum that is rounded on the way depends on its order. Nobody waits for a turn: what comes too early
is added later. Whose turn is first alternates from weight to weight, so that the two seldom want
the same weight.

In a pass the whole gradient of a weight must come through here, and nothing of it by torch's own
way, which knows of no turns.

Shapes: N tokens, I inputs, O outputs.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

Addend = Callable[[Tensor | None], Tensor]  # of the gradient so far, None for nothing, the sum


class GradientSum:
    """What one pass through a network, or two halves of it, add to the gradients of its weights."""

    def __init__(self, numbers: Mapping[Tensor, int], halves: int = 1) -> None:
        """`numbers` come from `number_weights`; they decide which half adds first to a weight."""
        self._numbers, self._halves = numbers, halves
        self._turns: dict[Tensor, _Turns] = {}

    def turns(self, weight: Tensor) -> "_Turns":
        """What is to be added to a weight."""
        found = self._turns.get(weight)
        if found is None:
            made = _Turns(weight, self._halves, self._numbers[weight] % self._halves)
            found = self._turns.setdefault(weight, made)  # the other half may have been here
        return found

    @contextmanager
    def half(self, number: int = 0) -> Iterator[None]:
        """Take what this thread computes in the block, there and back, for one of the halves."""
        before, _thread.half = _thread.half, Half(self, number)
        try:
            yield
        finally:
            _thread.half = before

    @torch.no_grad()
    def finish(self) -> None:
        """Add what still waits, once all halves are done."""
        for turns in self._turns.values():
            while any(turns.waiting):
                if turns.waiting[turns.next]:
                    turns.take()
                else:
                    turns.skip()


def number_weights(parameters: Iterable[Tensor]) -> dict[Tensor, int]:
    """The weights among the parameters of a network, which are its matrices: numbered from 0."""
    weights = (parameter for parameter in parameters if parameter.dim() > 1)
    return {weight: number for number, weight in enumerate(weights)}


class _Turns:
    """What is to be added to one weight by each half. Only the one whose turn it is may add."""

    def __init__(self, weight: Tensor, halves: int, first: int) -> None:
        self.weight = weight
        self.waiting = [deque[Addend]() for _ in range(halves)]
        self.next = first

    def take(self) -> None:
        addend = self.waiting[self.next].popleft()
        self.weight.grad = addend(self.weight.grad)
        self.skip()

    def skip(self) -> None:
        self.next = (self.next + 1) % len(self.waiting)


class Half:
    """One of the halves of a pass, which has a thread of its own."""

    def __init__(self, gradients: GradientSum, number: int) -> None:
        self._gradients, self._number = gradients, number
        self._early = list[_Turns]()  # where something waits for its turn

    def is_next(self, weight: Tensor) -> bool:
        """Whether what is added to this weight now need not wait."""
        return self._gradients.turns(weight).next == self._number

    @torch.no_grad()
    def add(self, weight: Tensor, addend: Addend) -> None:
        """Add to the gradient of a weight, now or later."""
        now = self._gradients.turns(weight)
        now.waiting[self._number].append(addend)
        self._early = [turns for turns in (*self._early, now) if not self._took(turns)]

    def _took(self, turns: _Turns) -> bool:
        if turns.next != self._number:
            return False
        turns.take()
        return True


class _Thread(threading.local):
    half: Half | None = None


_thread = _Thread()


def current_half() -> Half | None:
    """What the gradients of this thread are added by; None: by torch."""
    return _thread.half if torch.is_grad_enabled() else None


class GradientBuffer:
    """Memory for a gradient, which is kept from step to step: fresh memory costs more than a sum.

    It is free once the weight has no gradient any more.
    """

    def __init__(self) -> None:
        self._memory: Tensor | None = None

    def like(self, weight: Tensor) -> Tensor:
        """Memory for the gradient of a weight, with whatever is in it."""
        if self._memory is None or self._memory.shape != weight.shape:
            self._memory = torch.empty_like(weight)
        return self._memory


def add_product(gradient: Tensor | None, to_output: Tensor, x: Tensor) -> Tensor:
    """gradient + to_outputᵀ x: of float [O, I], which is written over, [N, O] and [N, I]."""
    if gradient is None:
        return to_output.mT @ x
    return gradient.addmm_(to_output.mT, x)
