"""Remove pruned attention heads: narrower matrices, the same outputs.

A head is pruned if its columns of the output matrix are zero (`engine.explore.head_pruning`).
Shapes: D hidden size, H heads, K size of a head.
"""

import copy

import torch
from torch import nn

from engine.models.attention import Attention
from engine.models.network import Network
from engine.models.relative import Rotary


def remove_pruned_heads(network: Network) -> Network:
    """Copy without pruned heads; the network itself if there are none.

    At least one head per layer stays. Config and unpadded plans assume the same number of heads in
    all layers, so the copy is for export as a graph only.
    """
    if not count_pruned_heads(network):
        return network
    narrower = copy.deepcopy(network)
    for attention in _attentions(narrower):
        keep_heads(attention, needed_heads(attention))
    return narrower


def count_pruned_heads(network: Network) -> int:
    """Number of removed heads; those of shared layers count once."""
    return sum(attention.heads - len(needed_heads(attention)) for attention in _attentions(network))


def _attentions(network: Network) -> list[Attention]:
    return [module for module in network.modules() if isinstance(module, Attention)]


def needed_heads(attention: Attention) -> list[int]:
    """Heads with an effect, at least one."""
    columns = attention.output.weight.unflatten(1, (attention.heads, -1))  # [D, H, K]
    has_effect = (columns != 0).any(2).any(0).tolist()
    return [head for head, is_needed in enumerate(has_effect) if is_needed] or [0]


@torch.no_grad()
def keep_heads(attention: Attention, heads: list[int]) -> None:
    """Remove all other heads from the matrices."""
    size = attention.head_size
    rows = torch.tensor([head * size + row for head in heads for row in range(size)])
    for matrix in (attention.query, attention.key, attention.value):
        matrix.weight = nn.Parameter(matrix.weight[rows])
        matrix.out_features = len(rows)
        if matrix.bias is not None:
            matrix.bias = nn.Parameter(matrix.bias[rows])
    attention.output.weight = nn.Parameter(attention.output.weight[:, rows])
    attention.output.in_features = len(rows)
    attention.kept_heads = heads
    attention.heads = len(heads)
    if attention.rotary is not None:
        attention.rotary = Rotary(len(heads), attention.rotary.base)
