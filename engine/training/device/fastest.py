"""Choose the fastest precision and attention method by measuring once.

The speed of matrix products bounds the gain of reduced precision. Large networks get close to it;
in small ones the operations between products dominate and casts add to them. So one layer of the
network itself is timed. Attention without padding has two methods on a GPU: padded blocks of
sequences of similar length, or kernels for nested tensors. A CPU has only the first.
"""

import copy
import math
import statistics
import time
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from engine.config.training import HardwareSpec
from engine.errors import is_out_of_memory
from engine.models.attention import Attention, Layout
from engine.models.encoder import Encoder
from engine.models.fast.encoding import attention_shape, plan_batch
from engine.models.fast.linear import Linear, has_onednn, use_onednn
from engine.models.fast.padded_blocks import AttentionShape
from engine.models.fast.unpadded import unpad
from engine.models.network import Network
from engine.serving.quantized_matmul import onednn_is_faster
from engine.system import precision
from engine.system.precision import (
    ATTENTION_METHODS,
    AttentionTimes,
    LayerTimes,
    Precision,
    ProductTimes,
)
from engine.training.device.environment import PRODUCTS, device_name
from engine.training.device.machine import DTYPES, Machine, describe_device

MAX_TOKENS = 1024  # of the timed batch: 2 to 3 s for a layer of BERT base
MIN_ROUNDS, MIN_SECONDS = 3, 0.1
NESTED_DEVICES = ("cuda",)
ONEDNN = "oneDNN"
ONEDNN_MULTIPLE = 32  # tokens; see `Machine.token_multiple`
LENGTHS = np.linspace(8, 128, 32).astype(np.int64)  # tokens per sequence of the timed batch
WARM_UP_PASSES, TIMED_PASSES = 3, 12  # each with other lengths, as in a run


def choose_products(
    network: Network, machine: Machine, is_split: bool, previous: dict[str, str] | None = None
) -> str:
    """Let a network multiply fp32 with oneDNN on a CPU if that is clearly faster.

    Not if batches are split between processes, which might measure differently. A resumed run
    passes its environment as `previous` and keeps its library and so ends with the same weights.

    Returns the name of the library, or an empty string.
    """
    if machine.device.type != "cpu" or is_split or not torch.backends.mkl.is_available():
        return ""
    if previous is not None and not previous.get(PRODUCTS):
        return ""
    if not any(has_onednn(module) for module in network.modules()):
        return ""
    if previous is None and not _prefers_onednn(machine):
        return ""
    use_onednn(network)
    return ONEDNN


def _prefers_onednn(machine: Machine) -> bool:
    """Time both libraries, unless known: a repeated run must choose as the first one."""
    key = f"products, {describe_device(machine.device, machine.threads)}"
    known = precision.find(ProductTimes, key)
    if known is None:
        known = ProductTimes(key, onednn_is_faster())
        precision.save(known)
    return known.prefers_onednn


def settle_products(network: Network, machine: Machine, products: str) -> str:
    """Use the chosen library only in fp32, and the multiple of tokens that suits it."""
    if products and machine.precision_name != "fp32":
        use_onednn(network, False)
        products = ""
    network.encoder.token_multiple = ONEDNN_MULTIPLE if products else machine.token_multiple
    return products


def choose_precision(
    network: Network, machine: Machine, hardware: HardwareSpec, rows: float, tokens: float
) -> Machine:
    """Return the machine with the precision in which a training step is fastest.

    Unchanged if the job sets a precision, or if reduced precision is slow here.

    Args:
        network: on the device.
        rows, tokens: sequences per batch, and their mean length in tokens.
    """
    if hardware.precision != "auto" or machine.precision_name == "fp32":
        return machine
    fastest = measure_layer(network, machine, rows, tokens).fastest
    return replace(machine, precision_name=fastest)


def measure_layer(network: Network, machine: Machine, rows: float, tokens: float) -> LayerTimes:
    """Time the top layer in fp32 and in the machine's precision, unless known."""
    width = min(MAX_TOKENS, network.spec.max_positions, max(8, _power_of_two(tokens)))
    count = max(1, min(_power_of_two(rows), MAX_TOKENS // width))
    encoder, reduced = network.encoder, machine.precision_name
    layer = encoder.layers[-1]
    key = (
        f"layer, {describe_device(machine.device, machine.threads)}, {reduced}, "
        f"{sum(weights.numel() for weights in layer.parameters())} weights, "
        f"{encoder.heads} heads, {count} × {width} tokens"
        f"{f', {ONEDNN}' if _uses_onednn(layer) else ''}"
    )
    known = precision.find(LayerTimes, key)
    if known is not None:
        return known
    layer = copy.deepcopy(layer).train().requires_grad_()
    layout = _layout(encoder, count, width, machine.device)
    x = torch.ones(count * width, network.spec.hidden_size, device=machine.device)
    best: dict[Precision, float] = {"fp32": math.inf, reduced: math.inf}
    rounds, deadline = -1, time.perf_counter() + MIN_SECONDS  # first round: warm-up
    while rounds < MIN_ROUNDS or time.perf_counter() < deadline:
        for name, quickest in best.items():
            seconds = _layer_seconds(layer, x, layout, replace(machine, precision_name=name))
            best[name] = min(quickest, seconds) if rounds >= 0 else math.inf
        rounds += 1
    times = LayerTimes(key, **best)
    precision.save(times)
    return times


def _uses_onednn(layer: nn.Module) -> bool:
    return any(isinstance(module, Linear) and module.onednn for module in layer.modules())


def _power_of_two(number: float) -> int:
    """Nearest power of two, so that similar sizes share a measurement."""
    return 1 << round(math.log2(max(1.0, number)))


def _layout(encoder: Encoder, rows: int, width: int, device: torch.device) -> Layout:
    plan = plan_batch(encoder, np.full(rows, width), width)
    layout = plan.map_tensors(lambda x: x.to(device)).layout
    if encoder.relative is None:
        return layout
    with torch.no_grad():
        return layout.with_relative(encoder.relative)


def _layer_seconds(layer: nn.Module, x: Tensor, layout: Layout, machine: Machine) -> float:
    """Seconds of a forward and backward pass."""
    inputs = x.clone().requires_grad_()
    began = time.perf_counter()
    with machine.precision():
        out, _ = layer(inputs, layout)
    out.float().mean().backward()
    assert inputs.grad is not None
    float(inputs.grad[0, 0])  # synchronises
    seconds = time.perf_counter() - began
    layer.zero_grad(set_to_none=True)
    return seconds


def choose_attention(encoder: Encoder, machine: Machine, previous: str = "") -> str:
    """Set the faster attention method for the device of an encoder.

    Returns one of `ATTENTION_METHODS`, or an empty string if there is no choice. A resumed run
    passes its method as `previous` and keeps it.
    """
    if machine.device.type not in NESTED_DEVICES or encoder.relative is not None:
        encoder.nested = False
        return ""
    method = previous
    if previous not in ATTENTION_METHODS:
        method = measure_attention(encoder, machine).fastest
    encoder.nested = method == "nested"
    return method


def measure_attention(encoder: Encoder, machine: Machine) -> AttentionTimes:
    """Time both attention methods, unless known."""
    attention = encoder.layers[0].attention
    assert isinstance(attention, Attention)
    size, dropout = encoder.heads * attention.head_size, attention.weight_dropout.p
    key = (
        f"attention, {device_name(machine.device)}, {encoder.heads} × {attention.head_size}, "
        f"{machine.precision_name}, dropout {dropout:g}, causal {encoder.causal}, "
        f"torch {torch.__version__}"
    )
    known = precision.find(AttentionTimes, key)
    if known is not None:
        return known
    shape = replace(attention_shape(encoder, machine.device), windows=(None,), multiple=1)
    seconds = {
        method: _attention_seconds(
            replace(shape, nested=method == "nested"), machine, size, dropout
        )
        for method in ATTENTION_METHODS
    }
    times = AttentionTimes(key, seconds)
    precision.save(times)
    return times


def _attention_seconds(shape: AttentionShape, machine: Machine, size: int, dropout: float) -> float:
    """Median seconds of a forward and backward pass; 0 if the device has no such kernel."""
    dtype, times = DTYPES[machine.precision_name], list[float]()
    for index in range(WARM_UP_PASSES + TIMED_PASSES):
        lengths = LENGTHS + index
        layout = unpad(lengths, int(lengths.max()), shape).layout
        layout = layout.map_tensors(lambda tensor: tensor.to(machine.device))
        leaf = torch.ones(int(lengths.sum()), size, device=machine.device, dtype=dtype)
        x = leaf.requires_grad_()
        float(x.detach()[0, 0])  # synchronises
        began = time.perf_counter()
        try:
            layout.gather(x, x, x, shape.heads, dropout).sum().backward()
        except RuntimeError as error:
            if layout.spans is None or is_out_of_memory(error):
                raise
            return 0.0
        assert x.grad is not None
        float(x.grad[0, 0])
        times.append(time.perf_counter() - began)
    return statistics.median(times[WARM_UP_PASSES:])
