"""A simulated accelerator, whose numbers are in host memory.

It refuses what a GPU refuses: operations on tensors of two devices. It counts what is expensive
there: operations (kernel launches), copies to and from the host, and synchronisations. Results are
those of the CPU, so that tests can compare them.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import torch
from torch import Tensor
from torch.nested._internal.nested_tensor import NestedTensor
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from tests.simulated import attention, autocast

NAME = "sim"
COPIES = ("copy_", "_to_copy", "_copy_from")
WAITS = (  # what the host has to know before it goes on: a value, or how many there are
    *("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero"),
    *("_unique2", "unique_dim", "unique_consecutive", "bincount"),
)
PRODUCTS = ("mm", "addmm")  # of weights; those inside attention are kernels of their own on a GPU
FREE = (  # these only look at a tensor in another way: a GPU launches nothing
    *("view", "_unsafe_view", "t", "transpose", "permute", "expand", "slice", "select", "detach"),
    *("unsqueeze", "squeeze", "split", "split_with_sizes", "unbind", "alias", "as_strided"),
    *("unfold", "diagonal", "_reshape_alias", "view_as", "chunk", "narrow", "lift_fresh"),
)


@dataclass
class Counts:
    """Operations, copies and waits of a device."""

    launches: Counter[str] = field(default_factory=Counter)
    products: Counter[torch.dtype] = field(default_factory=Counter)  # of matrices, by their numbers
    to_device: int = 0
    to_host: int = 0
    waits: Counter[str] = field(default_factory=Counter)


_counting: list[Counts] = []


@contextmanager
def counted() -> Iterator[Counts]:
    """Count what the device is asked to do meanwhile."""
    counts = Counts()
    _counting.append(counts)
    try:
        yield counts
    finally:
        _counting.remove(counts)


class OnDevice(Tensor):
    """A tensor of the device; `numbers` is an ordinary tensor of the processor."""

    numbers: Tensor

    @staticmethod
    def __new__(cls, numbers: Tensor) -> Self:
        with torch.inference_mode(False):  # a part of a weight is none of inference alone
            result: OnDevice = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
                cls,
                numbers.shape,
                strides=numbers.stride(),
                storage_offset=numbers.storage_offset(),
                dtype=numbers.dtype,
                device=torch.device(NAME, 0),
            )
        result.numbers = numbers
        return result

    @property
    def data(self) -> "OnDevice":
        return self.detach()

    @data.setter
    def data(self, value: "OnDevice") -> None:
        self.numbers = value.numbers

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __repr__(self, **_: object) -> str:
        return f"OnDevice({self.numbers})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(
        cls, operation: Any, types: Any, given: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        if NestedTensor in types:  # which says itself what it does with its tensors
            return NotImplemented
        named = named or {}
        name = operation.overloadpacket.__name__
        if operation._can_decompose():  # in inference mode
            result = operation.decompose(*given, **named)
            if result is not NotImplemented:
                return result
        if name in COPIES:
            return _copied(name, operation, given, named)
        _count(name, given)
        if name == "_local_scalar_dense":
            return operation(_inside(given[0]))
        if named.get("device") is not None:
            named = {**named, "device": torch.device("cpu")}
        mixed = _Mixed(str(operation))
        ours = tree_map(mixed.inside, given), tree_map(mixed.inside, named)
        result = GPU_ONLY.get(name, operation)(*ours[0], **ours[1])
        return _returned(operation, given, named, result)


class _Mixed:
    """Unwraps device tensors, and refuses mixed devices."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.takes_lists = "_foreach_" in operation or "_fused_" in operation

    def inside(self, value: Any) -> Any:
        if isinstance(value, OnDevice):
            return value.numbers
        # numbers of the host travel with a launch, but in none that goes over lists of tensors
        if isinstance(value, Tensor) and (value.dim() or self.takes_lists):
            raise RuntimeError(
                f"{self.operation}: a tensor of the processor, {tuple(value.shape)}, among those "
                "of the device"
            )
        return value


def _inside(value: Any) -> Any:
    return value.numbers if isinstance(value, OnDevice) else value


def _outside(value: Any) -> Any:
    return OnDevice(value) if isinstance(value, Tensor) else value


def _returned(operation: Any, given: tuple[Any, ...], named: dict[str, Any], result: Any) -> Any:
    """In-place results are the given tensor; others are new."""
    returns = operation._schema.returns
    written = {
        argument.name: given[position] if position < len(given) else named.get(argument.name)
        for position, argument in enumerate(operation._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    if not written:
        return tree_map(_outside, result)
    if not returns:
        return None
    changed = list(written.values())
    several = list(result) if isinstance(result, tuple | list) else [result]
    out = [
        changed.pop(0)
        if item.alias_info is not None and item.alias_info.is_write
        else _outside(value)
        for item, value in zip(returns, several, strict=True)
    ]
    return tuple(out) if isinstance(result, tuple | list) else out[0]


def _count(name: str, given: tuple[Any, ...]) -> None:
    waits = name in WAITS or (name == "index" and _has_mask(given[1]))
    for counts in _counting:
        if waits:
            counts.waits[name] += 1
        if name not in FREE:
            counts.launches[name] += 1
        if name in PRODUCTS:
            counts.products[given[-1].dtype] += 1


def _has_mask(places: Any) -> bool:
    return any(p is not None and p.dtype in (torch.bool, torch.uint8) for p in places)


def _copied(name: str, operation: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A copy on the device, from it or to it; to the processor the host waits for it."""
    if name == "copy_":
        target, source = given[0], given[1]
        _travelled(isinstance(source, OnDevice), isinstance(target, OnDevice), name)
        _inside(target).copy_(_inside(source))
        return target
    target_device = named.get("device")
    stays = target_device is None or torch.device(target_device).type == NAME
    _travelled(True, stays, name)
    if target_device is not None:
        named = {**named, "device": torch.device("cpu")}
    result = operation(_inside(given[0]), **named)
    return OnDevice(result) if stays else result


def _travelled(from_device: bool, to_device: bool, name: str) -> None:
    for counts in _counting:
        if from_device and to_device:
            counts.launches[name] += 1
        elif to_device:
            counts.to_device += 1
        else:
            counts.to_host += 1
            counts.waits["to host"] += 1


def _empty(size: Any, dtype: Any = None, *_: Any, **__: Any) -> OnDevice:
    return OnDevice(torch.empty(size, dtype=dtype))


def _empty_strided(size: Any, stride: Any, dtype: Any = None, *_: Any, **__: Any) -> OnDevice:
    return OnDevice(torch.empty_strided(size, stride, dtype=dtype))


def _copy_from(source: Tensor, target: Tensor, _: bool = False) -> Tensor:
    """Called by torch.tensor with a list."""
    _travelled(isinstance(source, OnDevice), isinstance(target, OnDevice), "copy_")
    _inside(target).copy_(_inside(source))
    return target


def _lstm_cell(
    given: Tensor, before: Tensor, cx: Tensor, bias: Tensor | None, other: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden state, cell state, and the gates, which the way back needs."""
    gates = given + before + (0 if bias is None or other is None else bias + other)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def _lstm_cell_back(
    to_h: Tensor | None, to_c: Tensor | None, cx: Tensor, cy: Tensor, gates: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of the gates before their functions, of the cell state, and of a bias."""
    i, f, g, o = gates.chunk(4, 1)
    to_h = torch.zeros_like(cy) if to_h is None else to_h
    flow = to_h * o * (1 - cy.tanh() ** 2) + (0 if to_c is None else to_c)
    parts = (
        flow * g * i * (1 - i),
        flow * cx * f * (1 - f),
        flow * i * (1 - g**2),
        to_h * cy.tanh() * o * (1 - o),
    )
    whole = torch.cat(parts, 1)
    return whole, flow * f, whole.sum(0) if has_bias else None


GPU_ONLY: dict[str, Any] = {  # kernels that torch has for GPUs alone
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_back,
    "_efficient_attention_forward": attention.forward,
    "_efficient_attention_backward": attention.backward,
}


@cache
def device() -> torch.device:
    """Make the device known to torch in this process, once."""
    _setup_privateuseone_for_python_backend(NAME)
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", _empty, "PrivateUse1")
    library.impl("empty_strided", _empty_strided, "PrivateUse1")
    library.impl("_copy_from", _copy_from, "PrivateUse1")
    _kept.append(library)
    _kept.append(autocast.register(library, NAME))
    module = getattr(torch, NAME)
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]  # for torch.autocast
    return torch.device(NAME, 0)


_kept: list[object] = []


@contextmanager
def parameters_keep_their_identity() -> Iterator[None]:
    """Let modules that move to the device keep their parameters, as on a GPU, with what is tied."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
