"""Token embedding with a sparse gradient on a CPU.

A batch reads a few hundred of some 30,000 rows (250,000 of a multilingual vocabulary). torch
allocates and zeroes a gradient of all rows each time, once per thread. Here the gradient of a batch
is a sparse tensor of its rows. All numbers equal torch's, except for the last bits of the norm.

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
    """torch's embedding with a sparse gradient, if `has_sparse_gradient`.

    Only this module may then add to the gradient, which excludes a tied MLM decoder and several
    processes.
    """

    has_sparse_gradient = False

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
        if self.has_sparse_gradient:
            return partial(_add_sparse, self.weight)
        half = current_half()
        return None if half is None else partial(_add_rows, half, self.weight)


@torch.no_grad()
def _add_sparse(weight: Tensor, tokens: Tensor, gradient: Tensor) -> None:
    """Add the gradient of the tokens of a pass: int64 […], float […, D]."""
    rows, sums = _sum_rows(tokens, gradient)
    with _add_lock:
        if weight.grad is not None:
            before = weight.grad
            both = torch.cat([before.indices()[0], rows]), torch.cat([before.values(), sums])
            rows, sums = _sum_rows(*both)
        weight.grad = torch.sparse_coo_tensor(
            rows[None], sums, weight.shape, is_coalesced=True, check_invariants=False
        )


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
