"""Autocast of the simulated device: the lists of CUDA (aten/src/ATen/autocast_mode.h).

torch has no lists for custom devices, and its CPU lists differ: norms and sums stay in reduced
precision there. Operations that no encoder calls are omitted.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

REDUCED = (  # computed in reduced precision
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
REDUCTIONS = (  # computed in float32 unless the caller gives a dtype
    *("prod", "softmax.int", "log_softmax.int", "cumprod", "cumsum", "linalg_vector_norm"),
    *("sum", "sum.dim_IntList"),
)
WIDEST = (  # computed in the widest dtype of their inputs
    *("addcdiv", "addcmul", "atan2", "bilinear", "dot", "vdot", "index_put", "scatter_add"),
)
KEY = "AutocastPrivateUse1"


def register(library: torch.library.Library, name: str) -> torch.library.Library:
    """Register these lists for the device `name` in `library`, an implementation of aten.

    Keep the returned library: as long as it lives, all other operations fall through.
    """
    fallthrough = torch.library.Library("_", "IMPL")
    fallthrough.fallback(torch.library.fallthrough_kernel, KEY)
    wrappers = ((REDUCED, _reduced), (FULL, _full), (REDUCTIONS, _reduction), (WIDEST, _widest))
    for names, wrap in wrappers:
        for operation in names:
            packet, _, overload = operation.partition(".")
            result = getattr(getattr(torch.ops.aten, packet), overload or "default")
            library.impl(operation, wrap(result, name), KEY)
    return fallthrough


def _reduced(operation: Any, name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        dtype = torch.get_autocast_dtype(name)
        with _no_autocast():
            return operation(*_to(args, dtype, name), **_to(kwargs, dtype, name))

    return run


def _full(operation: Any, name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with _no_autocast():
            return operation(*_to(args, torch.float32, name), **_to(kwargs, torch.float32, name))

    return run


def _reduction(operation: Any, name: str) -> Callable[..., Any]:
    index = [argument.name for argument in operation._schema.arguments].index("dtype")
    is_named = operation._schema.arguments[index].kwarg_only

    def run(*args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype") if is_named or len(args) <= index else args[index]
        if dtype is None and _is_cast(args[0], name):
            args, kwargs = args[:index], {**kwargs, "dtype": torch.float32}
        with _no_autocast():
            return operation(*args, **kwargs)

    return run


def _widest(operation: Any, name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        dtype = torch.get_autocast_dtype(name)
        for item in (*args, *kwargs.values()):
            if _is_cast(item, name):
                dtype = torch.promote_types(dtype, item.dtype)
        with _no_autocast():
            return operation(*_to(args, dtype, name), **_to(kwargs, dtype, name))

    return run


def _is_cast(value: Any, name: str) -> bool:
    """True for float tensors of the device up to float32."""
    return (
        isinstance(value, Tensor)
        and value.device.type == name
        and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _to(value: Any, dtype: torch.dtype, name: str) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_to(item, dtype, name) for item in value)
    if isinstance(value, dict):
        return {key: _to(item, dtype, name) for key, item in value.items()}
    return value.to(dtype) if _is_cast(value, name) and value.dtype != dtype else value


def _no_autocast() -> Any:
    """Disable autocast for nested calls."""
    return torch._C._ExcludeDispatchKeyGuard(
        torch._C.DispatchKeySet(torch._C._parse_dispatch_key(KEY))
    )
