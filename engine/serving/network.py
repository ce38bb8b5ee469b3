"""Networks with packed weights for fast inference.

Shapes: N rows, D hidden size, V vocabulary, S shortlist; … any leading dimensions.
"""

import copy
from collections.abc import Container, Generator, Iterable
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from engine.models.attention import Attention
from engine.models.heads import MlmHead
from engine.models.network import Network
from engine.serving.quantized_matmul import Kind, Matmul, matmul
from engine.system.memory import trim_memory

Module = TypeVar("Module", bound=nn.Module)

SHORTLIST_SIZE = 64  # tokens whose logits are recomputed in float32


class _NoBackward(torch.autograd.Function):
    """Guards a product unknown to autograd: without this, gradients would silently be wrong."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, multiply: Matmul) -> Tensor:
        return multiply(x)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError("packed weights have no gradient; use the plain network")


def _product(kind: Kind, weight: Tensor, bias: Tensor, plain: Matmul | None = None) -> Matmul:
    multiply = matmul(kind, weight, bias, plain)

    def product(x: Tensor) -> Tensor:
        if x.requires_grad and torch.is_grad_enabled():
            result: Tensor = _NoBackward.apply(x, multiply)  # type: ignore[no-untyped-call]
            return result
        return multiply(x)

    return product


class PackedLinear(nn.Linear):
    """Linear layer with packed weights; keeps `weight` and `bias` for display."""

    def __init__(self, linear: nn.Linear, kind: Kind) -> None:
        nn.Module.__init__(self)  # without allocating weights
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._product = _product(kind, linear.weight, _bias(linear), linear.forward)

    def __call__(self, x: Tensor) -> Tensor:
        """Skip the call machinery without hooks."""
        if self._forward_pre_hooks or self._forward_hooks:
            hooked: Tensor = super().__call__(x)
            return hooked
        return self._product(x)

    def forward(self, x: Tensor) -> Tensor:
        return self._product(x)


class PackedAttention(Attention):
    """Attention with keys and values in one product."""

    def __init__(self, attention: Attention, kind: Kind) -> None:
        self.__dict__ |= _shallow_copy(attention).__dict__
        self.output = PackedLinear(attention.output, kind)
        weight = torch.cat((self.key.weight, self.value.weight))  # [2 D, D]
        bias = torch.cat((_bias(self.key), _bias(self.value)))
        plain: tuple[Matmul, Matmul] = self.query, partial(_concatenate, (self.key, self.value))
        if isinstance(attention, PackedAttention):
            plain = attention._queries, attention._keys_and_values
        self._queries: Matmul = _product(kind, self.query.weight, _bias(self.query), plain[0])
        self._keys_and_values: Matmul = _product(kind, weight, bias, plain[1])

    def project(self, query_input: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        keys, values = self._keys_and_values(x).chunk(2, -1)
        return self._queries(query_input), keys, values


class ShortlistHead(MlmHead):
    """MLM head that is exact for the most probable tokens only.

    The decoder is by far the largest matrix, and a masked word reads all of it. Reduced precision
    reads less; the S most probable rows are then recomputed in float32.
    """

    def __init__(self, head: MlmHead, kind: Kind) -> None:
        nn.Module.__init__(self)
        self.dense, self.activation, self.norm = head.dense, head.activation, head.norm
        self.own_decoder, self.decoder, self.bias = head.own_decoder, head.decoder, head.bias
        self._approximate = _product(kind, head.decoder, head.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        transformed = self.norm(self.activation(self.dense(hidden)))  # [..., D]
        rough = self._approximate(transformed.view(-1, transformed.size(-1)))
        logits = rough.view(*transformed.shape[:-1], -1)
        first = logits.topk(min(SHORTLIST_SIZE, logits.size(-1))).indices  # [..., S]
        exact = (self.decoder[first] @ transformed[..., None])[..., 0] + self.bias[first]
        return logits.scatter(-1, first, exact)


def pack_network(network: Network, kind: Kind, exact: Container[int] = ()) -> Network:
    """Faster copy of a network; with float32 its results differ by rounding only.

    Shares all tensors with `network`, which must be in eval mode and may be packed in float32.
    Layers take memory twice, and the copy cannot be trained. Heads stay in float32, except for
    tokens outside the shortlist, which use `kind`; the layers with the indices `exact`
    stay as they are.
    """
    work = pack_layer_by_layer(network, kind, exact)
    while True:
        try:
            next(work)
        except StopIteration as end:
            quick: Network = end.value
            return quick


def pack_layer_by_layer(
    network: Network, kind: Kind, exact: Container[int] = ()
) -> Generator[None, None, Network]:
    """`pack_network` as a generator that yields after each layer; packing may take seconds."""
    quick, encoder = _shallow_copy(network), _shallow_copy(network.encoder)
    trim_memory()  # MKL's packed layout includes slack, which new memory does not back
    layers = nn.ModuleList()
    for index, layer in enumerate(network.encoder.layers):
        if index in exact:
            layers.append(layer)
            continue
        packed = _with_packed_weights(layer, kind)
        for part in packed.modules():  # faster attribute access than nn.Module's
            part.__dict__ |= part._modules | part._parameters
        layers.append(packed)
        yield
    encoder.layers, encoder.fixed_widths = layers, True
    quick.encoder = encoder
    if network.mlm is not None and kind != "float32":
        quick.mlm = ShortlistHead(network.mlm, kind)
    return quick.eval()


def _with_packed_weights(module: nn.Module, kind: Kind) -> nn.Module:
    if isinstance(module, nn.Linear):
        return PackedLinear(module, kind)
    if isinstance(module, Attention):
        return PackedAttention(module, kind)
    packed = _shallow_copy(module)
    for name, child in module.named_children():
        setattr(packed, name, _with_packed_weights(child, kind))
    return packed


def _concatenate(linears: Iterable[nn.Linear], x: Tensor) -> Tensor:
    """float [..., I] → all outputs, [..., O + …]."""
    return torch.cat([linear(x) for linear in linears], -1)


def _bias(linear: nn.Linear) -> Tensor:
    """Bias of a linear layer, or zeros: float [O]."""
    bias: Tensor | None = linear.bias
    return linear.weight.new_zeros(linear.out_features) if bias is None else bias


def _shallow_copy(module: Module) -> Module:
    """Copy of a module that shares its tensors and submodules."""
    duplicate = copy.copy(module)
    duplicate._modules = dict(module._modules)
    return duplicate
