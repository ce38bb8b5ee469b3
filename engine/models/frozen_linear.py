"""Frozen linear layers with cached low-precision weights.

Autocast casts weights in every product, that is, once per half batch; its cache covers only trained
weights while gradients are computed. Weights that do not change can be cast once.

Shapes: I inputs, O outputs; … any leading dimensions.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.models.network import Network


class FrozenLinear(nn.Linear):
    """Linear layer that shares the parameters of another."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        self.cast_weight: Tensor | None = None  # weight in the autocast type, [O, I]
        self.train(linear.training)

    def forward(self, x: Tensor) -> Tensor:
        """float [..., I] → float [..., O]"""
        weight = self.cast_weight if torch.is_autocast_enabled(x.device.type) else None
        return F.linear(x, self.weight if weight is None else weight, self.bias)


def cache_low_precision(network: Network, dtype: torch.dtype) -> None:
    """Cache the weights of frozen layers in the autocast type.

    Results do not change, and checkpoints keep the float32 weights. Layers with cached output are
    skipped, as no step runs them.
    """
    encoder = network.encoder
    for index, layer in enumerate(encoder.layers):
        if network.spec.layer_indices(index)[-1] <= encoder.cached_layers:
            continue
        for parent in list(layer.modules()):
            for name, linear in parent.named_children():
                if isinstance(linear, nn.Linear) and not linear.weight.requires_grad:
                    frozen = linear if isinstance(linear, FrozenLinear) else FrozenLinear(linear)
                    frozen.cast_weight = linear.weight.detach().to(dtype)
                    setattr(parent, name, frozen)


@contextmanager
def low_precision_weights(
    network: Network, precision: Callable[[], AbstractContextManager[object]]
) -> Iterator[None]:
    """Cast layer weights once for the block if `precision` enables CPU autocast.

    The weights must not change within the block. The network is restored afterwards.
    """
    with precision():
        enabled, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    replaced = []
    if enabled:
        for parent in list(network.encoder.layers.modules()):
            for name, linear in parent.named_children():
                if isinstance(linear, nn.Linear) and not isinstance(linear, FrozenLinear):
                    rounded = FrozenLinear(linear)
                    rounded.cast_weight = linear.weight.detach().to(dtype)
                    setattr(parent, name, rounded)
                    replaced.append((parent, name, linear))
    try:
        yield
    finally:
        for parent, name, linear in replaced:
            setattr(parent, name, linear)
