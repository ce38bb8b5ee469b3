"""Frozen weights are cast once, and no result changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from engine.config.features import Features
from engine.models.frozen_linear import FrozenLinear, cache_low_precision, low_precision_weights
from engine.models.heads import Heads
from engine.models.lora import add_adapters, merge_adapters
from engine.models.network import Network
from engine.models.outputs import named_outputs
from engine.training.device.machine import Machine
from engine.training.network import cache_frozen_weights
from engine.training.optimiser import freeze
from tests.engine.models.family_folders import OWN_NETWORKS
from tests.engine.models.test_families import random_batch
from tests.engine.models.test_family_table import new_network

every_network = pytest.mark.parametrize("family", ["bert", *OWN_NETWORKS])
IN_BF16 = Machine(torch.device("cpu"), "bf16", 1)
FREEZING: dict[str, Callable[[Network], None]] = {
    "all layers frozen": lambda network: freeze(network, network.spec.layers),
    "adapters in all layers": lambda network: add_adapters(network, 2, 4, 0.0, "all"),
}


class Casts(TorchDispatchMode):
    """Records the data pointers of cast tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.pointers = list[int]()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.to):
            self.pointers.append(args[0].data_ptr())
        return function(*args, **(kwargs or {}))


def step(network: Network, family: str) -> tuple[dict[str, Tensor], set[int]]:
    """The outputs and gradients of a pass in bfloat16, and the data pointers of cast tensors."""
    network.zero_grad()
    with torch.autocast("cpu", torch.bfloat16), Casts() as casts:
        result = dict(named_outputs(network, *random_batch(family)))
    sum(item.float().square().sum() for item in result.values()).backward()
    gradients = {n: p.grad for n, p in network.named_parameters() if p.grad is not None}
    return {n: item.clone() for n, item in (result | gradients).items()}, set(casts.pointers)


@every_network
@pytest.mark.parametrize("method", FREEZING)
def test_results_are_equal_and_frozen_weights_are_not_cast_again(family, method):
    network = new_network(family, Heads(outputs=3))
    FREEZING[method](network)
    names = merge_adapters(network).keys()
    before, cast = step(network, family)
    cache_low_precision(network, torch.bfloat16)
    after, cast_again = step(network, family)
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert torch.equal(value, after[name]), name
    frozen = [m for m in network.encoder.layers.modules() if isinstance(m, FrozenLinear)]
    pointers = {m.weight.data_ptr() for m in frozen}
    assert pointers and pointers <= cast and not pointers & cast_again
    assert merge_adapters(network).keys() == names


def test_trainable_and_unused_layers_are_unchanged():
    network = new_network("bert", Heads(outputs=3))
    freeze(network, 1)
    network.encoder.cached_layers = 1
    cache_frozen_weights(network, IN_BF16)
    features = Features(vectors="one layer", layer=1, probe="linear")
    probing = new_network("bert", Heads(outputs=3, features=features)).requires_grad_(False)
    cache_frozen_weights(probing, IN_BF16)
    frozen = new_network("bert", Heads(outputs=3)).requires_grad_(False)
    cache_frozen_weights(frozen, replace(IN_BF16, precision_name="fp32"))
    for model in (network, probing, frozen):
        assert not any(isinstance(module, FrozenLinear) for module in model.modules())
    cache_frozen_weights(frozen, IN_BF16)
    assert any(isinstance(module, FrozenLinear) for module in frozen.modules())


def test_the_original_weights_are_used_without_autocast():
    network = new_network("bert", Heads(outputs=3))
    freeze(network, network.spec.layers)
    with torch.no_grad():
        before = named_outputs(network, *random_batch("bert"))
        cache_low_precision(network, torch.bfloat16)
        after = named_outputs(network, *random_batch("bert"))
    assert all(torch.equal(value, after[name]) for name, value in before.items())


@every_network
def test_weights_are_cast_once_and_the_network_is_restored(family):
    network = new_network(family, Heads(outputs=3)).eval()
    weights = {
        m.weight.data_ptr() for m in network.encoder.layers.modules() if isinstance(m, nn.Linear)
    }
    modules = list(network.modules())

    def outputs() -> tuple[dict[str, Tensor], set[int]]:
        with torch.inference_mode(), IN_BF16.precision(), Casts() as casts:
            return named_outputs(network, *random_batch(family)), set(casts.pointers)

    before, cast = outputs()
    with low_precision_weights(network, IN_BF16.precision):
        within, cast_again = outputs()
    assert weights <= cast and not weights & cast_again
    assert all(torch.equal(value, within[name]) for name, value in before.items())
    assert list(network.modules()) == modules
    with low_precision_weights(network, replace(IN_BF16, precision_name="fp32").precision):
        assert list(network.modules()) == modules
