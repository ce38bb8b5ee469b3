"""A simulated accelerator, whose values are in host memory.

Like a GPU it refuses operations on tensors of two devices. It counts what is expensive on a GPU:
operations (kernel launches), copies to and from the host, and synchronisations. Results are those
of the CPU, so that tests can compare them.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import torch
from torch import Tensor
from torch._library import simple_registry
from torch.nested._internal.nested_tensor import NestedTensor
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from tests.simulated import attention, autocast

NAME = "sim"
COPIES = ("copy_", "_to_copy", "_copy_from")
WAITS = (  # the host must wait for their result: a value or a count
    *("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero"),
    *("_unique2", "unique_dim", "unique_consecutive", "bincount"),
)
PRODUCTS = ("mm", "addmm")  # with weights; attention has separate kernels on a GPU
VIEWS = (  # a GPU launches nothing for them
    *("view", "_unsafe_view", "t", "transpose", "permute", "expand", "slice", "select", "detach"),
    *("unsqueeze", "squeeze", "split", "split_with_sizes", "unbind", "alias", "as_strided"),
    *("unfold", "diagonal", "_reshape_alias", "view_as", "chunk", "narrow", "lift_fresh"),
)


@dataclass
class Counts:
    """Operations, copies and waits of a device."""

    launches: Counter[str] = field(default_factory=Counter)
    products: Counter[torch.dtype] = field(default_factory=Counter)  # of matrices, by dtype
    to_device: int = 0
    to_host: int = 0
    waits: Counter[str] = field(default_factory=Counter)


_active_counts: list[Counts] = []


@contextmanager
def count_operations() -> Iterator[Counts]:
    """Count the operations of the device in the block."""
    counts = Counts()
    _active_counts.append(counts)
    try:
        yield counts
    finally:
        _active_counts.remove(counts)


class DeviceTensor(Tensor):
    """A tensor of the device; `host` is an ordinary tensor of the CPU."""

    host: Tensor

    @staticmethod
    def __new__(cls, host: Tensor) -> Self:
        # views of weights are no inference tensors
        mode = torch.inference_mode(False) if torch.is_inference_mode_enabled() else nullcontext()
        with mode:
            result: DeviceTensor = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
                cls,
                host.shape,
                strides=host.stride(),
                storage_offset=host.storage_offset(),
                dtype=host.dtype,
                device=torch.device(NAME, 0),
            )
        result.host = host
        return result

    @property
    def data(self) -> "DeviceTensor":
        return self.detach()

    @data.setter
    def data(self, value: "DeviceTensor") -> None:
        self.host = value.host

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __repr__(self, **_: object) -> str:
        return f"DeviceTensor({self.host})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(
        cls, operation: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if NestedTensor in types:  # it dispatches its tensors itself
            return NotImplemented
        kwargs = kwargs or {}
        name, decomposes, takes_lists, _ = _traits(operation)
        if decomposes:  # in inference mode
            result = operation.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if name in COPIES:
            return _copy(name, operation, args, kwargs)
        _count(name, args)
        if name == "_local_scalar_dense":
            return operation(_unwrap(args[0]))
        if kwargs.get("device") is not None:
            kwargs = {**kwargs, "device": torch.device("cpu")}
        local = [_to_host(value, operation, takes_lists) for value in args]
        named = {key: _to_host(value, operation, takes_lists) for key, value in kwargs.items()}
        result = GPU_ONLY.get(name, operation)(*local, **named)
        return _wrap_result(operation, args, kwargs, result)


@cache
def _traits(operation: Any) -> tuple[str, bool, bool, tuple[tuple[int, str], ...]]:
    """Name, whether it decomposes, whether it takes lists, and which arguments it writes."""
    written = (
        (position, argument.name)
        for position, argument in enumerate(operation._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    name = operation.overloadpacket.__name__
    takes_lists = name.startswith(("_foreach_", "_fused_"))
    return name, operation._can_decompose(), takes_lists, tuple(written)


def _to_host(value: Any, operation: Any, takes_lists: bool) -> Any:
    """Unwrap device tensors, and refuse mixed devices."""
    if isinstance(value, DeviceTensor):
        return value.host
    if isinstance(value, list | tuple):
        return type(value)(_to_host(item, operation, takes_lists) for item in value)
    # scalars of the host are allowed, except in operations over lists of tensors
    if isinstance(value, Tensor) and (value.dim() or takes_lists):
        raise RuntimeError(
            f"{operation}: a CPU tensor, {tuple(value.shape)}, among tensors of the device"
        )
    return value


def _unwrap(value: Any) -> Any:
    return value.host if isinstance(value, DeviceTensor) else value


def _wrap(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_wrap, value))
    return DeviceTensor(value) if isinstance(value, Tensor) else value


def _wrap_result(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """In-place results are the given tensor; others are new."""
    returns = operation._schema.returns
    targets = [
        args[position] if position < len(args) else kwargs.get(name)
        for position, name in _traits(operation)[3]
    ]
    if not targets:
        return _wrap(result)
    if not returns:
        return None
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    out = [
        targets.pop(0) if item.alias_info is not None and item.alias_info.is_write else _wrap(value)
        for item, value in zip(returns, outputs, strict=True)
    ]
    return tuple(out) if isinstance(result, tuple | list) else out[0]


def _count(name: str, args: tuple[Any, ...]) -> None:
    waits = name in WAITS or (name == "index" and _has_mask(args[1]))
    for counts in _active_counts:
        if waits:
            counts.waits[name] += 1
        if name not in VIEWS:
            counts.launches[name] += 1
        if name in PRODUCTS:
            counts.products[args[-1].dtype] += 1


def _has_mask(indices: Any) -> bool:
    return any(p is not None and p.dtype in (torch.bool, torch.uint8) for p in indices)


def _copy(name: str, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Copy within, from or to the device; the host waits for copies from it."""
    if name == "copy_":
        target, source = args[0], args[1]
        _count_copy(isinstance(source, DeviceTensor), isinstance(target, DeviceTensor), name)
        _unwrap(target).copy_(_unwrap(source))
        return target
    target_device = kwargs.get("device")
    stays = target_device is None or torch.device(target_device).type == NAME
    _count_copy(True, stays, name)
    if target_device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    result = operation(_unwrap(args[0]), **kwargs)
    return DeviceTensor(result) if stays else result


def _count_copy(from_device: bool, to_device: bool, name: str) -> None:
    for counts in _active_counts:
        if from_device and to_device:
            counts.launches[name] += 1
        elif to_device:
            counts.to_device += 1
        else:
            counts.to_host += 1
            counts.waits["to host"] += 1


def _empty(size: Any, dtype: Any = None, *_: Any, **__: Any) -> DeviceTensor:
    return DeviceTensor(torch.empty(size, dtype=dtype))


def _empty_strided(size: Any, stride: Any, dtype: Any = None, *_: Any, **__: Any) -> DeviceTensor:
    return DeviceTensor(torch.empty_strided(size, stride, dtype=dtype))


def _copy_from(source: Tensor, target: Tensor, _: bool = False) -> Tensor:
    """Called by torch.tensor with a list."""
    _count_copy(isinstance(source, DeviceTensor), isinstance(target, DeviceTensor), "copy_")
    _unwrap(target).copy_(_unwrap(source))
    return target


def _lstm_cell(
    inputs: Tensor, hidden: Tensor, cx: Tensor, bias: Tensor | None, other: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden state, cell state, and the gates, which the backward pass needs."""
    gates = inputs + hidden + (0 if bias is None or other is None else bias + other)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def _lstm_cell_backward(
    grad_h: Tensor | None, grad_c: Tensor | None, cx: Tensor, cy: Tensor, gates: Tensor, bias: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of the gates before their functions, of the cell state, and of a bias."""
    i, f, g, o = gates.chunk(4, 1)
    grad_h = torch.zeros_like(cy) if grad_h is None else grad_h
    grad_cell = grad_h * o * (1 - cy.tanh() ** 2) + (0 if grad_c is None else grad_c)
    parts = (
        grad_cell * g * i * (1 - i),
        grad_cell * cx * f * (1 - f),
        grad_cell * i * (1 - g**2),
        grad_h * cy.tanh() * o * (1 - o),
    )
    grad_gates = torch.cat(parts, 1)
    return grad_gates, grad_cell * f, grad_gates.sum(0) if bias else None


GPU_ONLY: dict[str, Any] = {  # kernels that torch has only for GPUs
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_efficient_attention_forward": attention.forward,
    "_efficient_attention_backward": attention.backward,
}


@cache
def device() -> torch.device:
    """Register the device in torch, once per process."""
    _setup_privateuseone_for_python_backend(NAME)
    simple_registry.find_torch_dispatch_rule = lambda *_: None  # there is none; finding takes 6 %
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", _empty, "PrivateUse1")
    library.impl("empty_strided", _empty_strided, "PrivateUse1")
    library.impl("_copy_from", _copy_from, "PrivateUse1")
    _libraries.append(library)
    _libraries.append(autocast.register(library, NAME))
    module = getattr(torch, NAME)
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]  # for torch.autocast
    return torch.device(NAME, 0)


_libraries: list[object] = []


@contextmanager
def keep_parameters() -> Iterator[None]:
    """Keep the parameters of modules that move to the device, as on a GPU; tied ones stay tied."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
