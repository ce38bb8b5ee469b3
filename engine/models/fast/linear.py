"""Linear layers that accumulate the gradients of large weights in place, with MKL or oneDNN.

Shapes: N rows, I inputs, O outputs; … any leading dimensions.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from engine.models.fast.gradient_sum import Half, add_product, current_half

MIN_WEIGHTS = 2**19  # with fewer, the Python overhead outweighs the saved memory traffic
MIN_ONEDNN = 2**16  # with fewer, its overhead outweighs the faster product


class Linear(nn.Linear):
    """torch's linear layer with in-place gradients; see gradient_sum.py."""

    onednn = False  # multiply float32 with oneDNN, which uses AVX-512 on AMD processors, too

    def forward(self, x: Tensor) -> Tensor:
        """float […, I] → float […, O]"""
        half = current_half()
        if self.weight.numel() < MIN_WEIGHTS or not self.weight.requires_grad:
            half = None
        onednn = self.onednn and x.dtype == torch.float32 and self.weight.numel() >= MIN_ONEDNN
        onednn = onednn and not torch.is_autocast_enabled("cpu")
        if half is None and not onednn:
            return super().forward(x)
        if not torch.is_grad_enabled():
            return multiply(x, self.weight, self.bias)
        product: Tensor = _Linear.apply(x, self.weight, self.bias, half, onednn)  # type: ignore[no-untyped-call]
        return product


def has_onednn(module: nn.Module) -> bool:
    """True for a layer that oneDNN can multiply: one large enough."""
    return isinstance(module, Linear) and module.weight.numel() >= MIN_ONEDNN


def use_onednn(network: nn.Module, enabled: bool = True) -> None:
    """Multiply with oneDNN in all layers of a network on a CPU, or no longer."""
    for module in network.modules():
        if isinstance(module, Linear):
            module.onednn = enabled


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b with oneDNN: float32 […, I], [O, I] and [O], each in any layout → [..., O]."""
    rows = x.reshape(-1, x.size(-1))
    y: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return y.view(*x.shape[:-1], y.size(-1))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, half: Half | None, onednn: bool
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.half, ctx.parameter = half, weight  # saved tensors may be returned as other objects
        ctx.onednn = onednn
        return multiply(x, weight, bias) if onednn else F.linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows, to_rows = x.reshape(-1, x.size(-1)), gradient.reshape(-1, gradient.size(-1))
        half, onednn = ctx.half, ctx.onednn
        to_weight, add_later = None, False

        def weight_gradient(total: Tensor | None) -> Tensor:
            if not onednn:
                return add_product(total, to_rows, rows)
            product = multiply(to_rows.mT, rows.mT)
            return product if total is None else total.add_(product)

        if half is None:
            to_weight = weight_gradient(None) if ctx.needs_input_grad[1] else None
        elif half.is_next(ctx.parameter):
            half.add(ctx.parameter, weight_gradient)
        else:
            add_later = True
        to_x = None
        if ctx.needs_input_grad[0]:
            to_x = multiply(gradient, weight.mT) if onednn else gradient @ weight
        if add_later:
            half.add(ctx.parameter, weight_gradient)  # gives the other half time to add first
        to_bias = to_rows.sum(0) if ctx.needs_input_grad[2] else None
        return to_x, to_weight, to_bias, None, None
