"""Position-wise feed-forward block (Vaswani et al. 2017, §3.3).

Shapes: D hidden size, I intermediate size; … any leading dimensions.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.config.model import EncoderSpec
from engine.models.fast.dropout import Dropout
from engine.models.fast.linear import Linear


def quick_gelu(x: Tensor) -> Tensor:
    """Sigmoid approximation of GELU (Hendrycks & Gimpel 2016, §2)."""
    return x * torch.sigmoid(1.702 * x)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
    "quick_gelu": quick_gelu,
    "tanh": torch.tanh,
    "mish": F.mish,
}


class FeedForward(nn.Module):
    """Two linear layers with an activation, residual connection and norm: [..., D] → [..., D]."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        parts, size = spec.parts, spec.hidden_size
        self.wide = Linear(size, spec.intermediate_size, bias=parts.wide_biases)
        self.narrow = Linear(spec.intermediate_size, size, bias=parts.biases)
        self.activation = ACTIVATIONS[spec.activation]
        self.pre_norm = parts.norm == "pre"
        self.norm = nn.LayerNorm(size, eps=spec.layer_norm_eps, bias=parts.norm_biases)
        self.dropout = Dropout(spec.dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.intermediate(self.norm(x) if self.pre_norm else x)  # [..., I]
        out = self.dropout.add_to(x, self.narrow(hidden))
        result: Tensor = out if self.pre_norm else self.norm(out)
        return result

    def intermediate(self, x: Tensor) -> Tensor:
        """[..., D] → [..., I]"""
        return self.activation(self.wide(x))


class GatedFeedForward(FeedForward):
    """Feed-forward block with a gate (GLU: Shazeer 2020)."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__(spec)
        self.gate = Linear(spec.hidden_size, spec.intermediate_size, bias=spec.parts.wide_biases)

    def intermediate(self, x: Tensor) -> Tensor:
        gated: Tensor = super().intermediate(x) * self.gate(x)
        return gated


FEED_FORWARDS: dict[str, type[FeedForward]] = {"plain": FeedForward, "gated": GatedFeedForward}
