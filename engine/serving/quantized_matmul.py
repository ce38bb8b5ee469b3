"""Matrix products with weights packed once.

It uses private functions of torch. If one is missing or wrong, `is_available` is False, and the
plain product is used.

Shapes: N rows, I inputs, O outputs; … any leading dimensions.
"""

import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

Kind = Literal["int8", "bfloat16", "float16", "float32"]
"""Storage type of the weights, smallest first. Sums are float32; for int8, integers."""

KINDS: tuple[Kind, ...] = get_args(Kind)
Matmul = Callable[[Tensor], Tensor]
"""float32 [N, I] or [..., N, I] → the same with O, including bias."""

MEMORY_BOUND_ROWS = 32  # up to here, reading the weights dominates
MAX_ERROR: dict[Kind, float] = {"int8": 0.05, "bfloat16": 0.02, "float16": 2e-3, "float32": 1e-5}
PACKED_FOR = 512  # rows announced to MKL; weights packed for fewer are slow with many
MANY_ROWS = 384  # from here, plain weights are as fast as oneDNN's blocked ones and need no padding
CLEARLY_FASTER = 1.3  # of oneDNN than MKL; below, the choice might vary from process to process
FREE_ROWS = 64  # up to here, every row count has its own shape
BF16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16")
INT8_INSTRUCTIONS = ("amx_int8", "avx512_vnni", "avx_vnni")
ZERO = 128  # unsigned byte for the number 0


def matmul(kind: Kind, weight: Tensor, bias: Tensor, plain: Matmul | None = None) -> Matmul:
    """x Wᵀ + b; requires `is_available(kind)`.

    Args:
        weight: float32 [O, I].
        bias: float32 [O].
        plain: float32 product used if the kind is unsuitable; None: computed from these weights.
    """
    weight, bias = weight.detach(), bias.detach()
    return MAKERS[kind](weight, bias, plain or (lambda x: F.linear(x, weight, bias)))


@cache
def is_available(kind: Kind) -> bool:
    """True if this torch and CPU compute the product correctly."""
    random = torch.Generator().manual_seed(0)
    weight, bias = torch.randn((32, 64), generator=random), torch.randn(32, generator=random)
    for rows in (3, MEMORY_BOUND_ROWS + 1, PACKED_FOR + 1):
        x = torch.randn((rows, 64), generator=random)
        try:
            product = matmul(kind, weight, bias)(x)
        except (AttributeError, NotImplementedError, RuntimeError):
            return False
        right = F.linear(x, weight, bias)
        if not float((product - right).abs().max()) <= MAX_ERROR[kind] * float(right.abs().max()):
            return False
    return True


def is_native(kind: Kind) -> bool:
    """True if the CPU has instructions for it; emulated bfloat16 is slow."""
    if kind != "bfloat16":
        return True
    capabilities = torch.cpu.get_capabilities()
    is_x86 = capabilities.get("architecture") == "x86_64"
    return not is_x86 or any(capabilities.get(name) for name in BF16_INSTRUCTIONS)


def limit_shapes(multiply: Matmul) -> Matmul:
    """Pad the rows of a product with zeros to one of few counts.

    oneDNN compiles and caches code per row count; unpadded texts have a thousand different ones,
    which would take gigabytes.
    """

    def filled(x: Tensor) -> Tensor:
        rows = x.numel() // x.size(-1)
        missing = padded_rows(rows) - rows
        if not missing:
            return multiply(x)
        flat = x.reshape(rows, x.size(-1))
        y = multiply(torch.cat((flat, flat.new_zeros((missing, flat.size(1))))))
        return y[:rows].view(*x.shape[:-1], y.size(-1))

    return filled


def padded_rows(rows: int) -> int:
    """Next allowed row count: 16 per octave, at most one in sixteen more."""
    if rows <= FREE_ROWS:
        return rows
    step = 1 << (rows.bit_length() - 5)
    return -(-rows // step) * step


def _float32(weight: Tensor, bias: Tensor, plain: Matmul) -> Matmul:
    """Weights in the layout of MKL or oneDNN."""
    if not torch.backends.mkl.is_available():
        return _onednn(weight, bias, plain)
    return _onednn_blocks(weight, bias) if onednn_is_faster() else _mkl(weight, bias, plain)


@cache
def onednn_is_faster() -> bool:
    """True if oneDNN multiplies float32 clearly faster than MKL, which uses no AVX-512 on AMD."""
    random = torch.Generator().manual_seed(0)
    weight, bias = torch.randn((512, 512), generator=random), torch.zeros(512)
    x = torch.randn((128, 512), generator=random)
    try:
        products = {True: _onednn_blocks(weight, bias), False: _mkl(weight, bias, F.relu)}
        seconds: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(6):  # the first is for warming up
            for is_onednn, multiply in products.items():
                began = time.perf_counter()
                multiply(x)
                seconds[is_onednn].append(time.perf_counter() - began)
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return min(seconds[False]) >= CLEARLY_FASTER * min(seconds[True])


def _mkl(weight: Tensor, bias: Tensor, _: Matmul) -> Matmul:
    """Pack the weights once; the plain product would pack them in every call."""
    packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, PACKED_FOR)
    shape = weight.new_zeros(()).expand(weight.shape)  # placeholder, never read
    width, product = weight.size(1), torch.ops.mkl._mkl_linear.default

    def multiply(x: Tensor) -> Tensor:
        rows = x.numel() // width  # any other number would use the unpacked weight
        y: Tensor = product(x, packed, shape, bias, rows)
        return y

    return multiply


def _onednn_blocks(weight: Tensor, bias: Tensor) -> Matmul:
    """oneDNN with blocked weights."""
    blocks = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def multiply(x: Tensor) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, blocks, bias, "none", [], "")
        return y

    return limit_shapes(multiply)


def _onednn(weight: Tensor, bias: Tensor, plain: Matmul) -> Matmul:
    """Plain weights for many rows, and blocked ones for few."""
    few = _onednn_blocks(weight, bias)

    def multiply(x: Tensor) -> Tensor:
        return plain(x) if x.numel() >= MANY_ROWS * x.size(-1) else few(x)

    return multiply


def _bfloat16(weight: Tensor, bias: Tensor, _: Matmul) -> Matmul:
    blocks = torch.ops.mkldnn._reorder_linear_weight(weight.bfloat16(), None)
    reduced_bias = bias.bfloat16()

    def multiply(x: Tensor) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise(
            x.bfloat16(), blocks, reduced_bias, "none", [], ""
        )
        return y.float()

    return limit_shapes(multiply)


def _float16(weight: Tensor, bias: Tensor, plain: Matmul) -> Matmul:
    """Half the bytes with float32 sums: faster for few rows."""
    if not bool((weight.abs() <= torch.finfo(torch.float16).max).all()):
        return plain
    packed = torch.ops.quantized.linear_prepack_fp16(weight, bias)

    def multiply(x: Tensor) -> Tensor:
        if x.numel() > MEMORY_BOUND_ROWS * x.size(-1):
            return plain(x)
        y: Tensor = torch.ops.quantized.linear_dynamic_fp16(x, packed)
        return y

    return multiply


def _int8(weight: Tensor, bias: Tensor, _: Matmul) -> Matmul:
    """One scale per output and one per row of the input, so that no row changes another."""
    levels = 127 if multiplies_bytes() else 63
    tiny = torch.finfo(torch.float32).tiny
    scales = weight.abs().amax(1).clamp(min=tiny) / 127  # [O]
    zeros = torch.zeros(len(scales), dtype=torch.int32)
    signed = (weight / scales[:, None]).round().to(torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(signed, None)
    width, step = weight.size(1), 1 / levels
    product = torch.ops.onednn.qlinear_pointwise.default
    _hide_warning()

    def multiply(x: Tensor) -> Tensor:
        rows = x.numel() // width
        flat = x.reshape(rows, width)
        scaled = x.new_empty((padded_rows(rows), width))
        scaled[rows:] = 0
        size = torch.abs(flat, out=scaled[:rows]).amax(1, keepdim=True)  # a norm is slow
        size.clamp_min_(tiny)  # [N, 1]
        torch.div(flat, size, out=scaled[:rows])  # from -1 to 1
        numbers = torch.quantize_per_tensor(scaled, step, ZERO, torch.quint8)
        quantized = torch.empty(0, dtype=torch.uint8).set_(  # `int_repr` would copy
            numbers.untyped_storage(), 0, scaled.size(), scaled.stride()
        )
        y = product(
            *(quantized, step, ZERO, packed, scales, zeros, None, 1.0, 0),
            *(torch.float32, "none", [], ""),
        )
        result: Tensor = torch.addcmul(bias, y[:rows], size, out=y[:rows])
        return result.view(*x.shape[:-1], len(scales))

    return multiply


@cache
def _hide_warning() -> None:
    """Ignore torch's only warning that it will drop the function; `is_available` notices that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        torch.quantize_per_tensor(torch.zeros(1), 1.0, 0, torch.quint8)


def multiplies_bytes() -> bool:
    """False if the CPU sums pairs of products in 16 bits, which only 7 bits of an input fit."""
    capabilities = torch.cpu.get_capabilities()
    is_x86 = capabilities.get("architecture") == "x86_64"
    return not is_x86 or any(capabilities.get(name) for name in INT8_INSTRUCTIONS)


MAKERS: dict[Kind, Callable[[Tensor, Tensor, Matmul], Matmul]] = {
    "int8": _int8,
    "bfloat16": _bfloat16,
    "float16": _float16,
    "float32": _float32,
}
