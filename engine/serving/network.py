"""A network with the weights of another one, packed for fast matrix products.

Shapes: N rows, D hidden size, V vocabulary, S shortlist; … any leading dimensions.
"""

import copy
from collections.abc import Generator, Iterable
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

SHORTLIST = 64  # tokens whose logits are worked out again in float32


class _NoBackward(torch.autograd.Function):
    """The product of a library that autograd does not know: without this, the gradient of all that
    comes before would be taken for 0, and what is left of it for the whole."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, multiply: Matmul) -> Tensor:
        return multiply(x)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError("packed weights have no gradient; take that of the plain network")


def _product(kind: Kind, weight: Tensor, bias: Tensor, plain: Matmul | None = None) -> Matmul:
    """`matmul`, which refuses a gradient."""
    multiply = matmul(kind, weight, bias, plain)

    def product(x: Tensor) -> Tensor:
        if x.requires_grad and torch.is_grad_enabled():
            made: Tensor = _NoBackward.apply(x, multiply)  # type: ignore[no-untyped-call]
            return made
        return multiply(x)

    return product


class PackedLinear(nn.Linear):
    """A linear layer with packed weights; `weight` and `bias` stay, to be shown."""

    def __init__(self, linear: nn.Linear, kind: Kind) -> None:
        nn.Module.__init__(self)  # no weights of its own
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._product = _product(kind, linear.weight, _bias(linear), linear.forward)

    def __call__(self, x: Tensor) -> Tensor:
        """At once where nobody hooks into it."""
        if self._forward_pre_hooks or self._forward_hooks:
            hooked: Tensor = super().__call__(x)
            return hooked
        return self._product(x)

    def forward(self, x: Tensor) -> Tensor:
        return self._product(x)


class PackedAttention(Attention):
    """Attention that makes keys and values in one product; they read the same vectors."""

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

    def project(self, asking: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        keys, values = self._keys_and_values(x).chunk(2, -1)
        return self._queries(asking), keys, values


class ShortlistHead(MlmHead):
    """Predicts roughly over the whole vocabulary, and exactly those tokens that come first.

    The word vectors are the largest matrix by far, and for one masked word all of it is read. With
    short numbers that takes less, and the S rows that matter are read once more.
    """

    def __init__(self, head: MlmHead, kind: Kind) -> None:
        nn.Module.__init__(self)
        self.dense, self.activation, self.norm = head.dense, head.activation, head.norm
        self.own_decoder, self.decoder, self.bias = head.own_decoder, head.decoder, head.bias
        self._rough = _product(kind, head.decoder, head.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        turned = self.norm(self.activation(self.dense(hidden)))  # [..., D]
        rough = self._rough(turned.view(-1, turned.size(-1)))
        logits = rough.view(*turned.shape[:-1], -1)
        first = logits.topk(min(SHORTLIST, logits.size(-1))).indices  # [..., S]
        right = (self.decoder[first] @ turned[..., None])[..., 0] + self.bias[first]
        return logits.scatter(-1, first, right)


def pack_network(network: Network, kind: Kind) -> Network:
    """The same network, quicker; with float32 it says the same but for the order of the sums.

    It shares all tensors with `network`, which must be in eval mode and may be one that is
    packed in float32; those of its layers it holds a second time; and it cannot be trained. The
    heads stay in float32, except that tokens which do not come first are predicted in `kind`.
    """
    work = pack_layer_by_layer(network, kind)
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: Network = end.value
            return made


def pack_layer_by_layer(network: Network, kind: Kind) -> Generator[None, None, Network]:
    """`pack_network`, which gives way after each layer: all of them may take seconds."""
    made, encoder = _shallow_copy(network), _shallow_copy(network.encoder)
    trim_memory()  # what MKL lays out has room to spare, which takes no memory where it is new
    layers = nn.ModuleList()
    for layer in network.encoder.layers:
        packed = _with_packed_weights(layer, kind)
        for part in packed.modules():  # all are its own; what they hold is found at once there
            part.__dict__ |= part._modules | part._parameters
        layers.append(packed)
        yield
    encoder.layers = layers
    made.encoder = encoder
    if network.mlm is not None and kind != "float32":
        made.mlm = ShortlistHead(network.mlm, kind)
    return made.eval()


def _with_packed_weights(module: nn.Module, kind: Kind) -> nn.Module:
    if isinstance(module, nn.Linear):
        return PackedLinear(module, kind)
    if isinstance(module, Attention):
        return PackedAttention(module, kind)
    made = _shallow_copy(module)
    for name, child in module.named_children():
        setattr(made, name, _with_packed_weights(child, kind))
    return made


def _concatenate(linears: Iterable[nn.Linear], x: Tensor) -> Tensor:
    """float [..., I] → the outputs of all, [..., O + …]."""
    return torch.cat([linear(x) for linear in linears], -1)


def _bias(linear: nn.Linear) -> Tensor:
    """The bias of a linear layer, zeros where it has none: float [O]."""
    bias: Tensor | None = linear.bias
    return linear.weight.new_zeros(linear.out_features) if bias is None else bias


def _shallow_copy(module: Module) -> Module:
    """A module of its own with the tensors and, so far, the parts of another one."""
    made = copy.copy(module)
    made._modules = dict(module._modules)
    return made
