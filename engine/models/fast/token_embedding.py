"""The token embedding, whose gradient keeps its memory from step to step on a processor.

A batch reads a few hundred rows of some 30,000. torch's way back makes a gradient of all rows each
time, in fresh memory that is filled with zeros first, and of two threads each makes its own. Here
the rows of a batch are summed by themselves and added to a gradient that is zero everywhere else;
the next step wipes those rows alone, and clipping reads no others. Every number is the one that
torch's way has, but for the last bits of the norm.

Shapes: N tokens, R different ones among them, V vocabulary, D size of a vector; … any leading
dimensions.
"""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from engine.models.fast.gradient_sum import Half, current_half

_adding = Lock()  # two threads may come with their halves of a batch


class TokenEmbedding(nn.Embedding):
    """A row for each token."""

    kept: "KeptGradient | None" = None

    def keep_gradient(self) -> None:
        """Keep the memory of the gradient while this trains on a processor.

        Nothing but this module may add to the gradient, and only once in a pass: the table must not
        be the decoder of masked words too, nor may other processes sum up gradients with this one.
        """
        self.kept = KeptGradient(self.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        """int64 […] → float […, D]"""
        add = self._adds()
        if add is None:
            return super().forward(tokens)
        found: Tensor = _Rows.apply(self.weight, tokens, add)  # type: ignore[no-untyped-call]
        return found

    def _adds(self) -> Callable[[Tensor, Tensor], None] | None:
        """What fills the gradient with that of tokens int64 […], float […, D]; None: torch."""
        learns = self.training and self.weight.requires_grad and torch.is_grad_enabled()
        if not learns or self.weight.device.type != "cpu":
            return None
        if self.kept is not None:
            return self.kept.add
        half = current_half()
        return None if half is None else partial(_add_rows, half, self.weight)


class KeptGradient:
    """The gradient of a table [V, D], and which of its rows may be other than zero."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self._memory: Tensor | None = None  # [V, D]; the gradient, while the weight has one
        self._written = list[Tensor]()  # int64 [R] for each pass, without repeats

    @torch.no_grad()
    def add(self, tokens: Tensor, gradient: Tensor) -> None:
        """Add what a pass says of its tokens: int64 […], float […, D]."""
        rows, sums = _sum_rows(tokens, gradient)
        with _adding:
            if self.weight.grad is None:
                self.weight.grad = self._wiped()
            self._written.append(rows)
            self.weight.grad.index_add_(0, rows, sums)

    @property
    def is_there(self) -> bool:
        """Whether the gradient that the table has is this one, and not one of torch's own."""
        return self._memory is not None and self.weight.grad is self._memory

    @torch.no_grad()
    def read(self) -> Tensor:
        """The rows of the gradient, which is there, that may be other than zero: [R, D]."""
        assert self._memory is not None
        return self._memory.index_select(0, self._rows())

    def _wiped(self) -> Tensor:
        if self._memory is None:
            self._memory = torch.zeros_like(self.weight)
        elif self._written:
            self._memory.index_fill_(0, self._rows(), 0)
        self._written.clear()
        return self._memory

    def _rows(self) -> Tensor:
        if len(self._written) > 1:
            self._written = [torch.cat(self._written).unique()]
        return self._written[0]


def _sum_rows(tokens: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Of int64 […] and float […, D] the rows without repeats, [R], and what is added to them."""
    flat = gradient.reshape(-1, gradient.size(-1))  # [N, D]
    rows, places = tokens.reshape(-1).unique(return_inverse=True)  # [R], [N]
    return rows, flat.new_zeros(len(rows), flat.size(1)).index_add_(0, places, flat)


def _add_rows(half: Half, weight: Tensor, tokens: Tensor, gradient: Tensor) -> None:
    """The same as `KeptGradient.add`, where others add to the gradient, too."""
    rows, sums = _sum_rows(tokens, gradient)

    def addend(found: Tensor | None) -> Tensor:
        return (torch.zeros_like(weight) if found is None else found).index_add_(0, rows, sums)

    half.add(weight, addend)


class _Rows(torch.autograd.Function):
    """Looks rows up; on the way back it lets the gradient of the table be filled."""

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, tokens: Tensor, add: Callable[[Tensor, Tensor], None]
    ) -> Tensor:
        ctx.save_for_backward(tokens)
        ctx.add = add
        return nn.functional.embedding(tokens, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None]:
        (tokens,) = ctx.saved_tensors
        ctx.add(tokens, gradient)
        return None, None, None
