"""Token embedding with a reused sparse gradient on a CPU.

A batch reads a few hundred of some 30,000 rows. torch allocates and zeroes a gradient of all rows
each time, once per thread. Here the rows of a batch are summed and added to a gradient that is zero
elsewhere; the next step zeroes only those rows, and clipping reads only them. All numbers equal
torch's, except for the last bits of the norm.

Shapes: N tokens, R distinct ones, V vocabulary, D size of a vector; … any leading dimensions.
"""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from engine.models.fast.gradient_sum import Half, current_half

_add_lock = Lock()  # two threads may add their halves of a batch


class TokenEmbedding(nn.Embedding):
    """torch's embedding with a reused gradient."""

    reused_gradient: "ReusedGradient | None" = None

    def reuse_gradient(self) -> None:
        """Reuse the gradient memory while training on a CPU.

        Only this module may add to its gradient, once per pass. This excludes a tied MLM decoder
        and several processes.
        """
        self.reused_gradient = ReusedGradient(self.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        """int64 […] → float […, D]"""
        add = self._adder()
        if add is None:
            return super().forward(tokens)
        rows: Tensor = _Rows.apply(self.weight, tokens, add)  # type: ignore[no-untyped-call]
        return rows

    def _adder(self) -> Callable[[Tensor, Tensor], None] | None:
        """Function that adds the gradient of tokens int64 […], float […, D]; None: autograd."""
        learns = self.training and self.weight.requires_grad and torch.is_grad_enabled()
        if not learns or self.weight.device.type != "cpu":
            return None
        if self.reused_gradient is not None:
            return self.reused_gradient.add
        half = current_half()
        return None if half is None else partial(_add_rows, half, self.weight)


class ReusedGradient:
    """Gradient of a table [V, D], and its possibly non-zero rows."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self._memory: Tensor | None = None  # [V, D]; set as gradient of the weight
        self._written = list[Tensor]()  # int64 [R] per pass, distinct

    @torch.no_grad()
    def add(self, tokens: Tensor, gradient: Tensor) -> None:
        """Add the gradient of the tokens of a pass: int64 […], float […, D]."""
        rows, sums = _sum_rows(tokens, gradient)
        with _add_lock:
            if self.weight.grad is None:
                self.weight.grad = self._clear()
            self._written.append(rows)
            self.weight.grad.index_add_(0, rows, sums)

    @property
    def is_current(self) -> bool:
        """True if the weight's gradient is this one, not one of autograd."""
        return self._memory is not None and self.weight.grad is self._memory

    @torch.no_grad()
    def read(self) -> Tensor:
        """Possibly non-zero rows of the gradient, [R, D]."""
        assert self._memory is not None
        return self._memory.index_select(0, self._rows())

    def _clear(self) -> Tensor:
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
    """Distinct rows [R] of int64 […], and their summed gradients."""
    flat = gradient.reshape(-1, gradient.size(-1))  # [N, D]
    rows, inverse = tokens.reshape(-1).unique(return_inverse=True)  # [R], [N]
    return rows, flat.new_zeros(len(rows), flat.size(1)).index_add_(0, inverse, flat)


def _add_rows(half: Half, weight: Tensor, tokens: Tensor, gradient: Tensor) -> None:
    """Add like `ReusedGradient.add`, to a gradient that other code adds to as well."""
    rows, sums = _sum_rows(tokens, gradient)

    def addend(total: Tensor | None) -> Tensor:
        return (torch.zeros_like(weight) if total is None else total).index_add_(0, rows, sums)

    half.add(weight, addend)


class _Rows(torch.autograd.Function):
    """Look up rows; the backward pass calls `add`."""

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
