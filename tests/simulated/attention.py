"""The GPU kernel for attention over sequences of any length, forward and backward, computed by
matrix products one sequence at a time. Without dropout: a GPU uses its own random numbers.

torch uses the kernel only if its build has it: `kernel_enabled` overrides that check.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nested._internal import sdpa


def forward(
    q: Tensor, k: Tensor, v: Tensor, bias: None, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
    max_seqlen_q: int, max_seqlen_k: int, dropout: float, causal: int, log_sumexp: bool = False,
    scale: float | None = None, **_: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`aten::_efficient_attention_forward`: [1, M or N, H, K] → shape of q, and saved values."""
    assert bias is None
    sizes = cu_seqlens_q.diff(), cu_seqlens_k.diff()
    assert (int(sizes[0].max()), int(sizes[1].max())) == (max_seqlen_q, max_seqlen_k)
    out = torch.cat([_attend(*part, causal, scale) for part in _split(q, k, v, *sizes)], 1)
    seed = torch.zeros((), dtype=torch.int64)
    return out, out.new_zeros(1), seed, seed.clone(), max_seqlen_q, max_seqlen_k


def backward(
    grad_out: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: None, out: Tensor,
    cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int, max_seqlen_k: int, *rest: Any,
    scale: float | None = None, **_: Any,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """`aten::_efficient_attention_backward`: the gradients of q, k, v and the bias."""
    sizes = cu_seqlens_q.diff(), cu_seqlens_k.diff()
    parts, grads_out = _split(q, k, v, *sizes), grad_out[0].split(sizes[0].tolist())
    gradients = [
        _backward(grad, *part, rest[4], scale) for grad, part in zip(grads_out, parts, strict=True)
    ]
    return (*(torch.cat(side)[None] for side in zip(*gradients, strict=True)), None)


def _split(
    q: Tensor, k: Tensor, v: Tensor, sizes_q: Tensor, sizes_k: Tensor
) -> Iterator[tuple[Any, ...]]:
    sides = ((q, sizes_q), (k, sizes_k), (v, sizes_k))
    return zip(*(x[0].split(sizes.tolist()) for x, sizes in sides), strict=True)


def _weights(q: Tensor, k: Tensor, causal: int, scale: float | None) -> tuple[Tensor, float]:
    """softmax(scale q kᵀ), [H, M, T], and the scale, of one sequence [M or T, H, K]."""
    scale = scale or 1 / math.sqrt(q.size(-1))
    scores = q.transpose(0, 1) @ k.permute(1, 2, 0) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(len(q), len(k)).triu(1).bool(), float("-inf"))
    return scores.softmax(-1), scale


def _attend(q: Tensor, k: Tensor, v: Tensor, causal: int, scale: float | None) -> Tensor:
    """One sequence: [1, M, H, K]."""
    weights, _ = _weights(q, k, causal, scale)
    return (weights @ v.transpose(0, 1)).transpose(0, 1)[None]


def _backward(
    grad_out: Tensor, q: Tensor, k: Tensor, v: Tensor, causal: int, scale: float | None
) -> tuple[Tensor, ...]:
    weights, scale = _weights(q, k, causal, scale)
    grad_out, q, k, v = (x.transpose(0, 1) for x in (grad_out, q, k, v))  # [H, M or T, K]
    grad_weights = grad_out @ v.mT
    grad_scores = weights * (grad_weights - (grad_weights * weights).sum(-1, keepdim=True)) * scale
    grads = grad_scores @ k, grad_scores.mT @ q, weights.mT @ grad_out
    return tuple(x.transpose(0, 1) for x in grads)


@contextmanager
def kernel_enabled() -> Iterator[None]:
    """Let nested tensors use the kernel, as in a build of torch for GPUs."""
    with patch.object(sdpa, "can_use_efficient_attention", lambda *_, **__: True):
        yield
