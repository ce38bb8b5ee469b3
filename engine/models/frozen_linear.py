"""Linear layers that do not learn, whose weights need not be rounded anew in every pass.

Autocast rounds the weights of a product to short numbers whenever it is made, so once for each half
of a batch; only of weights that learn it caches that, and of those only where gradients are
computed. What does not learn, or not meanwhile, can be kept rounded.

Shapes: I inputs, O outputs; … any leading dimensions.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.models.network import Network


class FrozenLinear(nn.Linear):
    """A linear layer with the parameters of another one."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        self.short: Tensor | None = None  # the weight as autocast would round it, [O, I]
        self.train(linear.training)

    def forward(self, x: Tensor) -> Tensor:
        """float [..., I] → float [..., O]"""
        short = self.short if torch.is_autocast_enabled(x.device.type) else None
        return F.linear(x, self.weight if short is None else short, self.bias)


def cache_low_precision(network: Network, dtype: torch.dtype) -> None:
    """Keep the weights of the layers that do not learn in the type of autocast, too.

    No number changes by that, and what is saved is the weights themselves. Layers whose output is
    cached are left out: no step goes through them.
    """
    encoder = network.encoder
    for number, layer in enumerate(encoder.layers):
        if network.spec.layer_indices(number)[-1] <= encoder.cached_layers:
            continue
        for parent in list(layer.modules()):
            for name, linear in parent.named_children():
                if isinstance(linear, nn.Linear) and not linear.weight.requires_grad:
                    frozen = linear if isinstance(linear, FrozenLinear) else FrozenLinear(linear)
                    frozen.short = linear.weight.detach().to(dtype)
                    setattr(parent, name, frozen)


@contextmanager
def low_precision_weights(
    network: Network, precision: Callable[[], AbstractContextManager[object]]
) -> Iterator[None]:
    """Where `precision` turns autocast of the processor on, round the weights of the layers once
    for a block in which none of them changes. The network is then again as it was.
    """
    with precision():
        is_short, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    replaced = []
    if is_short:
        for parent in list(network.encoder.layers.modules()):
            for name, linear in parent.named_children():
                if isinstance(linear, nn.Linear) and not isinstance(linear, FrozenLinear):
                    rounded = FrozenLinear(linear)
                    rounded.short = linear.weight.detach().to(dtype)
                    setattr(parent, name, rounded)
                    replaced.append((parent, name, linear))
    try:
        yield
    finally:
        for parent, name, linear in replaced:
            setattr(parent, name, linear)
