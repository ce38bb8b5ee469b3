"""Matrix products with weights that were packed once, so that each use is fast.

Nothing else in the program calls what torch keeps to itself for this; where a function is missing,
or does something else than it should, `is_available` says so and the plain product is taken.

Shapes: N rows, I inputs, O outputs; … any leading dimensions.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

Kind = Literal["int8", "bfloat16", "float16", "float32"]
"""In what the weights are held, the shortest first. Sums are float32, in int8 integers."""

KINDS: tuple[Kind, ...] = get_args(Kind)
Matmul = Callable[[Tensor], Tensor]
"""float32 [N, I] or [..., N, I] → the same with O, weights and bias included."""

MEMORY_BOUND_ROWS = 32  # rows up to which reading the weights takes longer than the sums
ROUNDING: dict[Kind, float] = {"int8": 0.05, "bfloat16": 0.02, "float16": 2e-3, "float32": 1e-5}
PACKED_FOR = 512  # rows that MKL is told to expect. Any number of them can be multiplied; but with
# weights laid out for a few, many take longer
MANY_ROWS = 384  # rows from which weights as they are multiply as quickly as those in oneDNN's
# blocks, and need no rows to be filled up
FREE_ROWS = 64  # rows up to which every number of them is a shape of its own
BF16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16")


def matmul(kind: Kind, weight: Tensor, bias: Tensor, plain: Matmul | None = None) -> Matmul:
    """x Wᵀ + b; `is_available` must be true of the kind.

    Args:
        weight: float32 [O, I].
        bias: float32 [O].
        plain: the same product in float32, for what the kind is not good at; None: of these very
            weights, which it then keeps.
    """
    weight, bias = weight.detach(), bias.detach()
    return MAKERS[kind](weight, bias, plain or (lambda x: F.linear(x, weight, bias)))


@cache
def is_available(kind: Kind) -> bool:
    """Whether this torch has such a product on this processor, and it comes to what it should."""
    random = torch.Generator().manual_seed(0)
    weight, bias = torch.randn((32, 64), generator=random), torch.randn(32, generator=random)
    for rows in (3, MEMORY_BOUND_ROWS + 1, PACKED_FOR + 1):
        x = torch.randn((rows, 64), generator=random)
        try:
            found = matmul(kind, weight, bias)(x)
        except (AttributeError, NotImplementedError, RuntimeError):
            return False
        right = F.linear(x, weight, bias)
        if not float((found - right).abs().max()) <= ROUNDING[kind] * float(right.abs().max()):
            return False
    return True


def is_native(kind: Kind) -> bool:
    """Whether the processor has instructions for it; without them bfloat16 is worked out slowly."""
    if kind != "bfloat16":
        return True
    known = torch.cpu.get_capabilities()
    on_x86 = known.get("architecture") == "x86_64"
    return not on_x86 or any(known.get(name) for name in BF16_INSTRUCTIONS)


def limit_shapes(multiply: Matmul) -> Matmul:
    """The same product of matrices whose rows are filled up with zeros to one of few numbers.

    For every number of rows oneDNN makes code, which takes time, and keeps it, which takes memory:
    texts of all lengths without their padding come to a thousand different ones, and to gigabytes.
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
    """The next number of rows that is allowed: at most one in sixteen more, 16 to each octave."""
    if rows <= FREE_ROWS:
        return rows
    step = 1 << (rows.bit_length() - 5)
    return -(-rows // step) * step


def _float32(weight: Tensor, bias: Tensor, plain: Matmul) -> Matmul:
    """From weights laid out as the library multiplies by them: MKL, or else oneDNN."""
    laid_out = _mkl if torch.backends.mkl.is_available() else _onednn
    return laid_out(weight, bias, plain)


def _mkl(weight: Tensor, bias: Tensor, _: Matmul) -> Matmul:
    """The plain product, which would lay the weights out anew each time."""
    packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, PACKED_FOR)
    shape = weight.new_zeros(()).expand(weight.shape)  # of which no number is read
    width, product = weight.size(1), torch.ops.mkl._mkl_linear.default

    def multiply(x: Tensor) -> Tensor:
        rows = x.numel() // width  # with any other number the weight as it is would be taken
        y: Tensor = product(x, packed, shape, bias, rows)
        return y

    return multiply


def _onednn(weight: Tensor, bias: Tensor, plain: Matmul) -> Matmul:
    """By oneDNN, the same sums in another order; of many rows the plain product."""
    blocks = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def by_blocks(x: Tensor) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, blocks, bias, "none", [], "")
        return y

    filled = limit_shapes(by_blocks)

    def multiply(x: Tensor) -> Tensor:
        return plain(x) if x.numel() >= MANY_ROWS * x.size(-1) else filled(x)

    return multiply


def _bfloat16(weight: Tensor, bias: Tensor, _: Matmul) -> Matmul:
    blocks = torch.ops.mkldnn._reorder_linear_weight(weight.bfloat16(), None)
    short = bias.bfloat16()

    def multiply(x: Tensor) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x.bfloat16(), blocks, short, "none", [], "")
        return y.float()

    return limit_shapes(multiply)


def _float16(weight: Tensor, bias: Tensor, plain: Matmul) -> Matmul:
    """Half the bytes to read, sums as in float32: pays where there are few rows."""
    if not bool((weight.abs() <= torch.finfo(torch.float16).max).all()):
        return plain
    held = torch.ops.quantized.linear_prepack_fp16(weight, bias)

    def multiply(x: Tensor) -> Tensor:
        if x.numel() > MEMORY_BOUND_ROWS * x.size(-1):
            return plain(x)
        y: Tensor = torch.ops.quantized.linear_dynamic_fp16(x, held)
        return y

    return multiply


def _int8(weight: Tensor, bias: Tensor, _: Matmul) -> Matmul:
    """A scale for each output; the inputs are rounded to 256 levels between their extremes.

    FBGEMM is the quicker one for few rows, oneDNN for many.
    """
    scales = weight.abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / 127  # [O]
    with warnings.catch_warnings():  # torch means to give this up; `is_available` will notice
        warnings.simplefilter("ignore", UserWarning)
        none = torch.zeros(len(scales), dtype=torch.long)
        signed = torch.quantize_per_channel(weight, scales.double(), none, 0, torch.qint8)
    few, many = _prepack(signed, bias, "x86"), _prepack(signed, bias, "onednn")

    def multiply(x: Tensor) -> Tensor:
        held = few if x.numel() <= MEMORY_BOUND_ROWS * x.size(-1) else many
        y: Tensor = torch.ops.quantized.linear_dynamic(x, held)
        return y

    return limit_shapes(multiply)


def _prepack(weight: Tensor, bias: Tensor, library: str) -> object:
    """The weights as a library of torch wants them; the one that it has where it lacks this one."""
    engines = torch.backends.quantized
    before = engines.engine
    if library in engines.supported_engines:
        engines.engine = library
    try:
        return torch.ops.quantized.linear_prepack(weight, bias)
    finally:
        engines.engine = before


MAKERS: dict[Kind, Callable[[Tensor, Tensor, Matmul], Matmul]] = {
    "int8": _int8,
    "bfloat16": _bfloat16,
    "float16": _float16,
    "float32": _float32,
}
