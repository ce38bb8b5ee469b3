"""Autocast of the simulated device: the lists of CUDA (aten/src/ATen/autocast_mode.h).

torch has no lists for custom devices, and its CPU lists differ: norms and sums stay in reduced
precision there. Operations that no encoder calls are omitted.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

SHORT = (  # computed in reduced precision
    *("linear", "matmul", "mm", "bmm", "addmm", "addbmm", "baddbmm", "mv", "addmv", "addr"),
    *("chain_matmul", "linalg_multi_dot", "linalg_vecdot", "einsum", "prelu"),
    *("_thnn_fused_lstm_cell", "lstm_cell", "scaled_dot_product_attention"),
)
FULL = (  # computed in float32
    *("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p"),
    *("reciprocal", "rsqrt", "sinh", "tan", "softplus", "layer_norm", "native_layer_norm"),
    *("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "cosine_similarity", "nll_loss"),
    *("cosine_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss"),
    *("margin_ranking_loss", "binary_cross_entropy_with_logits", "dist", "cdist", "logsumexp"),
    *("renorm", "soft_margin_loss", "triplet_margin_loss"),
)
SUMMED = (  # the same, unless the caller says in what
    *("prod", "softmax.int", "log_softmax.int", "cumprod", "cumsum", "linalg_vector_norm"),
    *("sum", "sum.dim_IntList"),
)
WIDEST = (  # computed in the widest that they are given
    *("addcdiv", "addcmul", "atan2", "bilinear", "dot", "vdot", "index_put", "scatter_add"),
)
KEY = "AutocastPrivateUse1"


def register(library: torch.library.Library, name: str) -> torch.library.Library:
    """Give the device `name` these lists; `library` is one of aten's implementations.

    What comes back must be kept: with it goes the leave of all other operations to pass.
    """
    others = torch.library.Library("_", "IMPL")
    others.fallback(torch.library.fallthrough_kernel, KEY)
    kinds = ((SHORT, _short), (FULL, _full), (SUMMED, _summed), (WIDEST, _widest))
    for names, kind in kinds:
        for operation in names:
            packet, _, overload = operation.partition(".")
            result = getattr(getattr(torch.ops.aten, packet), overload or "default")
            library.impl(operation, kind(result, name), KEY)
    return others


def _short(operation: Any, name: str) -> Callable[..., Any]:
    def work(*given: Any, **named: Any) -> Any:
        dtype = torch.get_autocast_dtype(name)
        with _without():
            return operation(*_in(given, dtype, name), **_in(named, dtype, name))

    return work


def _full(operation: Any, name: str) -> Callable[..., Any]:
    def work(*given: Any, **named: Any) -> Any:
        with _without():
            return operation(*_in(given, torch.float32, name), **_in(named, torch.float32, name))

    return work


def _summed(operation: Any, name: str) -> Callable[..., Any]:
    at = [argument.name for argument in operation._schema.arguments].index("dtype")
    is_named = operation._schema.arguments[at].kwarg_only

    def work(*given: Any, **named: Any) -> Any:
        dtype = named.get("dtype") if is_named or len(given) <= at else given[at]
        if dtype is None and _counts(given[0], name):
            given, named = given[:at], {**named, "dtype": torch.float32}
        with _without():
            return operation(*given, **named)

    return work


def _widest(operation: Any, name: str) -> Callable[..., Any]:
    def work(*given: Any, **named: Any) -> Any:
        dtype = torch.get_autocast_dtype(name)
        for item in (*given, *named.values()):
            if _counts(item, name):
                dtype = torch.promote_types(dtype, item.dtype)
        with _without():
            return operation(*_in(given, dtype, name), **_in(named, dtype, name))

    return work


def _counts(value: Any, name: str) -> bool:
    """True for float tensors of the device up to float32."""
    return (
        isinstance(value, Tensor)
        and value.device.type == name
        and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _in(value: Any, dtype: torch.dtype, name: str) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_in(item, dtype, name) for item in value)
    if isinstance(value, dict):
        return {key: _in(item, dtype, name) for key, item in value.items()}
    return value.to(dtype) if _counts(value, name) and value.dtype != dtype else value


def _without() -> Any:
    """Disable autocast for nested calls."""
    return torch._C._ExcludeDispatchKeyGuard(
        torch._C.DispatchKeySet(torch._C._parse_dispatch_key(KEY))
    )
