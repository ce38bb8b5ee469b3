"""A network with fewer attention heads, cut out of a trained one.

Published layouts have the same number of heads in each layer, and hidden size = heads × head size.
So the vectors between the layers lose as many dimensions as the heads of a layer: a narrower
network of the same family, which other programs load.

Shapes: D hidden size, H heads, K size of a head, N tokens; those of the result are D′ and H′.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor, nn

from engine.models.attention import Attention
from engine.models.checkpoint import Checkpoint
from engine.models.network import Network, meta_network
from engine.models.smaller import Input


@torch.no_grad()
def cut_heads(loaded: Checkpoint, heads: int, sample: Iterable[Input]) -> Checkpoint:
    """Copy with the most important `heads` of each layer, without the heads of pre-training.

    The importance of a head is the mean norm of its part of the output of attention, that of a
    dimension its mean absolute value between layers, both on `sample` (Muralidharan et al. 2024,
    §2.2). If the layers share relative positions by head, all keep the same heads.
    """
    old, spec = loaded.network, loaded.spec
    kept = replace(old.heads, mlm=False, nsp=False, own_decoder=False)
    spec = spec.model_copy(update={"heads": heads, "hidden_size": heads * spec.head_size})
    of_heads, of_dimensions = _importances(old, sample)
    if old.encoder.relative is not None:
        of_heads[:] = of_heads.sum(0)
    dimensions = _largest(of_dimensions, spec.hidden_size)
    chosen = [_largest(importance, heads) for importance in of_heads]
    names = [name for name, module in old.named_modules() if isinstance(module, Attention)]
    cuts = _Cuts(dict(zip(names, chosen, strict=True)), dimensions, spec.head_size)
    network, stored = meta_network(spec, kept), dict(old.named_parameters())
    for name, new in dict(network.named_parameters()).items():
        module, _, leaf = name.rpartition(".")
        setattr(network.get_submodule(module), leaf, cuts.cut(name, stored[name], new))
    network.tie()
    return replace(loaded, spec=spec, network=network.eval())


class _Cuts:
    """Keeps the chosen heads and hidden dimensions of each parameter."""

    def __init__(self, heads: dict[str, Tensor], dimensions: Tensor, head_size: int) -> None:
        """`heads` by the name of an attention module."""
        self._heads, self._dimensions = heads, dimensions
        self._columns = {  # of the vectors of all heads
            name: (kept[:, None] * head_size + torch.arange(head_size)).flatten()
            for name, kept in heads.items()
        }

    def cut(self, name: str, old: Tensor, new: Tensor) -> nn.Parameter:
        """The rows and columns of a parameter for its new shape."""
        for axis, (before, after) in enumerate(zip(old.shape, new.shape, strict=True)):
            if before != after:
                old = old.index_select(axis, self._index(name, axis, after))
        return nn.Parameter(old.clone())

    def _index(self, name: str, axis: int, size: int) -> Tensor:
        module, _, part = name.rpartition(".")
        owner, _, matrix = module.rpartition(".")
        if owner in self._columns:
            reads_heads = matrix == "output" and part == "weight" and axis == 1
            if reads_heads or (matrix in ("query", "key", "value") and axis == 0):
                return self._columns[owner]
        if size == len(self._dimensions):
            return self._dimensions
        return next(iter(self._heads.values()))  # of relative positions, alike in all layers


def _largest(importance: Tensor, count: int) -> Tensor:
    return importance.topk(count).indices.sort().values


def _importances(network: Network, sample: Iterable[Input]) -> tuple[Tensor, Tensor]:
    """Of the heads of each layer, float32 [layers, H], and of dimensions, [D]."""
    attentions = [module for module in network.modules() if isinstance(module, Attention)]
    of_heads = torch.zeros(len(attentions), network.spec.heads)
    of_dimensions = torch.zeros(network.spec.hidden_size)

    def record(index: int, gathered: Tensor) -> None:
        attention = attentions[index]
        parts = gathered.flatten(0, -2).unflatten(1, (attention.heads, -1))  # [N, H, K]
        columns = attention.output.weight.unflatten(1, (attention.heads, -1))  # [D, H, K]
        outputs = torch.einsum("nhk,dhk->nhd", parts, columns)
        of_heads[index] += outputs.norm(dim=2).sum(0)

    hooks = [
        attention.output.register_forward_pre_hook(lambda _, x, index=index: record(index, x[0]))
        for index, attention in enumerate(attentions)
    ]
    for ids, segments in sample:
        encoded = network.encoder(torch.tensor([ids]), torch.tensor([segments]), keep_hidden=True)
        for hidden in encoded.hidden:
            of_dimensions += hidden.abs().flatten(0, -2).sum(0)
    for hook in hooks:
        hook.remove()
    return of_heads, of_dimensions
