"""The part of a layer in which each token is worked on by itself (Vaswani et al. 2017, §3.3).

Shapes: D width, I inner width; … any leading dimensions.
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from engine.models.fast.dropout import Dropout
from engine.spec.model import EncoderSpec

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


class FeedForward(nn.Module):
    """Widen, bend, narrow; then add and norm. float [..., D] → float [..., D]."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.wide = nn.Linear(spec.hidden_size, spec.intermediate_size)
        self.narrow = nn.Linear(spec.intermediate_size, spec.hidden_size)
        self.activation = ACTIVATIONS[spec.activation]
        self.norm = nn.LayerNorm(spec.hidden_size, eps=spec.layer_norm_eps)
        self.dropout = Dropout(spec.dropout)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.activation(self.wide(x))  # [..., I]
        out: Tensor = self.norm(x + self.dropout(self.narrow(inner)))
        return out
