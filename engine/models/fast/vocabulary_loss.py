"""Cross-entropy over the vocabulary without holding the logits of all rows.

With 30,000 tokens, the logits are the largest tensor of a pre-training batch. Here the logits of a
few rows at a time become probabilities and then gradients in place.

Shapes: N rows, D hidden size, V vocabulary.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from engine.models.fast.gradient_sum import GradientBuffer, Half, current_half

CHUNK = 256  # rows
IGNORE_INDEX = -100  # torch's default
ROW_MULTIPLE = 64  # in reduced precision on a CPU


def cross_entropy(
    rows: Tensor,
    decoder: Tensor,
    bias: Tensor,
    targets: Tensor,
    count: float | Tensor,
    buffer: GradientBuffer | None = None,
) -> Tensor:
    """Cross-entropy of `rows @ decoderᵀ + bias`, summed and divided by `count`: float32 scalar.

    Args:
        rows: float [N, D]; autocast applies as in `F.linear`.
        decoder: float [V, D]; bias: float [V].
        targets: int64 [N]; on a GPU, rows with `IGNORE_INDEX` do not count.
        buffer: memory for the gradient of the decoder; see gradient_sum.py.
    """
    device = rows.device.type
    if torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16:
        return _recomputed_loss(rows, decoder, bias, targets) / count
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else rows.dtype
    loss: Tensor = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
        rows, decoder, bias, targets, 1 / count, dtype, current_half(), buffer or GradientBuffer()
    )
    return loss


def _recomputed_loss(rows: Tensor, decoder: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Summed loss for fp16, whose gradients must be computed from the scaled loss.

    Logits are recomputed in the backward pass. Without rows there is still one empty part, since
    all ranks need gradients of the same weights.
    """

    def part(chunk: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(chunk, decoder, bias).float(), labels, reduction="sum")

    loss = rows.new_zeros((), dtype=torch.float32)
    for first in range(0, max(1, len(rows)), CHUNK):
        chunk, labels = rows[first : first + CHUNK], targets[first : first + CHUNK]
        loss = loss + checkpoint(part, chunk, labels, use_reentrant=False, preserve_rng_state=False)
    return loss


class _CrossEntropy(torch.autograd.Function):
    """Computes gradients in the forward pass, while the logits are available.

    The decoder's gradient is computed in the backward pass if it can be added in place and its
    factors are no larger than it.
    """

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        decoder: Tensor,
        bias: Tensor,
        targets: Tensor,
        scale: float | Tensor,
        dtype: torch.dtype,
        half: Half | None,
        buffer: GradientBuffer,
    ) -> Tensor:
        learns = ctx.needs_input_grad[1]
        is_later = half is not None and 0 < len(rows) <= decoder.size(1)
        parts = list[Tensor]()  # factors of the decoder's gradient: [n, V], [n, D]
        with torch.autocast(rows.device.type, enabled=False):
            weights, offset = decoder.to(dtype), bias.to(dtype)
            to_rows, to_bias = torch.empty_like(rows), torch.zeros_like(bias)
            to_decoder = torch.zeros_like(decoder) if learns and not is_later else None
            loss = torch.zeros((), dtype=torch.float32, device=rows.device)
            # oneDNN compiles a reduced-precision kernel per shape
            multiple = ROW_MULTIPLE if dtype.itemsize < 4 and rows.device.type == "cpu" else 1
            backward = any(ctx.needs_input_grad)
            for first in range(0, len(rows), CHUNK):
                chunk, labels = rows[first : first + CHUNK], targets[first : first + CHUNK]
                chunk = chunk.to(dtype)
                n, extra = len(chunk), -len(chunk) % multiple
                chunk = F.pad(chunk, (0, 0, 0, extra)) if extra else chunk
                logits = torch.addmm(offset, chunk, weights.t())[:n]  # [n, V]
                if not backward:
                    loss += F.cross_entropy(logits.float(), labels, reduction="sum")
                    continue
                part, gradient = _loss_and_gradient(logits.float(), labels)
                loss += part
                gradient *= scale
                to_bias += gradient.sum(0)
                gradient = gradient.to(dtype)
                gradient = F.pad(gradient, (0, 0, 0, extra)) if extra else gradient
                to_rows[first : first + n] = (gradient @ weights)[:n]
                if to_decoder is None:
                    parts += [gradient, chunk] if learns else []
                elif dtype == decoder.dtype:
                    to_decoder.addmm_(gradient.t(), chunk)
                else:
                    to_decoder += gradient.t() @ chunk
        ctx.save_for_backward(to_rows, to_decoder, to_bias, *parts)
        ctx.half, ctx.buffer, ctx.decoder = half, buffer, decoder
        return loss * scale

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        to_rows, to_decoder, to_bias, *parts = ctx.saved_tensors
        is_unit = gradient.device.type == "cpu" and float(gradient) == 1  # the usual case
        if not is_unit:
            to_rows, to_bias = to_rows * gradient, to_bias * gradient
            to_decoder = None if to_decoder is None else to_decoder * gradient
            parts[1::2] = [factor * gradient for factor in parts[1::2]]
        if ctx.half is not None and ctx.needs_input_grad[1]:
            scaled, to_decoder = to_decoder, None
            ctx.half.add(
                ctx.decoder,
                lambda total: _add_decoder_gradient(total, scaled, parts, ctx.decoder, ctx.buffer),
            )
        return to_rows, to_decoder, to_bias, *(None,) * 5


def _add_decoder_gradient(
    before: Tensor | None,
    addend: Tensor | None,
    parts: list[Tensor],
    decoder: Tensor,
    buffer: GradientBuffer,
) -> Tensor:
    """Add the gradient of the decoder, given or as a product of its factors."""
    if addend is not None:
        return addend if before is None else before.add_(addend)
    total = buffer.like(decoder) if before is None else before
    is_empty = before is None
    for differences, factor in zip(parts[::2], parts[1::2], strict=True):
        total.addmm_(differences.t(), factor, beta=0 if is_empty else 1)
        is_empty = False
    return total


def _loss_and_gradient(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Summed loss of logits float32 [n, V], and its gradient, which overwrites them."""
    # ignored targets occur on GPUs only
    is_counted = None if logits.device.type == "cpu" else targets >= 0
    targets = targets if is_counted is None else targets.clamp(min=0)
    target_logits = logits.gather(1, targets[:, None])[:, 0]
    highest = logits.amax(1)
    probabilities = torch.softmax(logits, 1)
    # safe: the largest probability is at least 1 / V
    log_sums = highest - probabilities.amax(1).log()
    probabilities.scatter_add_(1, targets[:, None], probabilities.new_full((len(targets), 1), -1))
    losses = log_sums - target_logits
    if is_counted is not None:
        losses, probabilities = losses * is_counted, probabilities.mul_(is_counted[:, None])
    return losses.sum(), probabilities
