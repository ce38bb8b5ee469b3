"""Linear layers that accumulate the gradients of large weights in place."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from engine.models.fast.gradient_sum import Half, add_product, current_half

MIN_WEIGHTS = 2**19  # with fewer, the Python overhead outweighs the saved memory traffic


class Linear(nn.Linear):
    """torch's linear layer with in-place gradients; see gradient_sum.py.

    Shapes: I inputs, O outputs; … any leading dimensions.
    """

    def forward(self, x: Tensor) -> Tensor:
        """float […, I] → float […, O]"""
        half = current_half()
        if half is None or self.weight.numel() < MIN_WEIGHTS or not self.weight.requires_grad:
            return super().forward(x)
        product: Tensor = _Linear.apply(x, self.weight, self.bias, half)  # type: ignore[no-untyped-call]
        return product


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, half: Half) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.half, ctx.parameter = half, weight  # saved tensors may be returned as other objects
        return F.linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows, to_rows = x.reshape(-1, x.size(-1)), gradient.reshape(-1, gradient.size(-1))

        def add() -> None:
            ctx.half.add(ctx.parameter, lambda total: add_product(total, to_rows, rows))

        if is_next := ctx.half.is_next(ctx.parameter):
            add()
        to_x = gradient @ weight if ctx.needs_input_grad[0] else None
        if not is_next:
            add()  # gives the other half time to add first
        to_bias = to_rows.sum(0) if ctx.needs_input_grad[2] else None
        return to_x, None, to_bias, None
