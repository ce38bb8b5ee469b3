"""Low-rank adapters (LoRA, Hu et al. 2021).

A weight W [O, I] stays frozen; W + (alpha / r) B A replaces it, with trained B [O, r] and A [r, I].
Checkpoints contain merged weights only.

Shapes: I inputs, O outputs, r rank; … any leading dimensions.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.models.fast.dropout import Dropout
from engine.models.frozen_linear import FrozenLinear
from engine.models.network import Network

DOWN, UP = "lora_down", "lora_up"
LINEARS = {
    "query and value": ("attention.query", "attention.value"),  # as in the paper
    "all": (
        "attention.query",
        "attention.key",
        "attention.value",
        "attention.output",
        "feed_forward.wide",
        "feed_forward.narrow",
    ),
}


class LoraLinear(FrozenLinear):
    """Linear layer with an adapter that is initially zero (B = 0)."""

    def __init__(self, linear: nn.Linear, rank: int, alpha: float, dropout: float) -> None:
        """Share the parameters of `linear`; A is drawn from torch's random state."""
        super().__init__(linear)
        self.lora_down = nn.Parameter(self.weight.new_empty(rank, self.in_features))  # A
        self.lora_up = nn.Parameter(self.weight.new_zeros(self.out_features, rank))  # B
        nn.init.kaiming_uniform_(self.lora_down, a=math.sqrt(5))  # as in the authors' code
        self.dropout = Dropout(dropout)
        self.scale = alpha / rank
        self.train(linear.training)  # the dropout too

    def forward(self, x: Tensor) -> Tensor:
        """float [..., I] → float [..., O]"""
        update = F.linear(F.linear(self.dropout(x), self.lora_down), self.lora_up)
        return super().forward(x) + self.scale * update

    def merged_weight(self) -> Tensor:
        """W + (alpha / r) B A, float [O, I]."""
        return self.weight + self.scale * (self.lora_up @ self.lora_down)


def add_adapters(
    network: Network, rank: int, alpha: float, dropout: float, targets: str, frozen: int = 0
) -> None:
    """Train adapters instead of the encoder; heads and pooler stay trained.

    Args:
        targets: a key of `LINEARS`.
        frozen: number of lowest layers without adapters.
    """
    for part in (network.encoder.embeddings, network.encoder.layers):
        part.requires_grad_(False)
    for index, layer in enumerate(network.encoder.layers):
        if network.spec.layer_indices(index)[-1] <= frozen:
            continue
        for name in LINEARS[targets]:
            parent, _, leaf = name.rpartition(".")
            linear = layer.get_submodule(name)
            assert isinstance(linear, nn.Linear)
            setattr(layer.get_submodule(parent), leaf, LoraLinear(linear, rank, alpha, dropout))


@torch.no_grad()
def merge_adapters(network: nn.Module) -> dict[str, Tensor]:
    """Parameters by name, with adapters merged into their weights."""
    tensors: dict[str, Tensor] = {}
    adapted = {n: m for n, m in network.named_modules() if isinstance(m, LoraLinear)}
    for name, parameter in network.named_parameters():
        module, _, leaf = name.rpartition(".")
        if leaf not in (DOWN, UP):
            is_adapted = module in adapted and leaf == "weight"
            tensors[name] = adapted[module].merged_weight() if is_adapted else parameter.detach()
    return tensors
