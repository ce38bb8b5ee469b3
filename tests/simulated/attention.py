"""The kernel of GPUs for attention over sequences of any length, by plain products, one sequence
after another; and its way back. Nothing is dropped: a GPU draws numbers of its own.

What torch asks before it takes the kernel, it asks of its own build: `as_on_a_gpu` answers that.
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
    q: Tensor, k: Tensor, v: Tensor, bias: None, begins_q: Tensor, begins_k: Tensor,
    longest_q: int, longest_k: int, dropout: float, causal: int, keep: bool = False,
    scale: float | None = None, **_: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`aten::_efficient_attention_forward`: [1, M or N, H, K] → as q, and what is kept."""
    assert bias is None
    sizes = begins_q.diff(), begins_k.diff()
    assert (int(sizes[0].max()), int(sizes[1].max())) == (longest_q, longest_k)
    out = torch.cat([_attended(*part, causal, scale) for part in _parts(q, k, v, *sizes)], 1)
    seed = torch.zeros((), dtype=torch.int64)
    return out, out.new_zeros(1), seed, seed.clone(), longest_q, longest_k


def backward(
    flow: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: None, out: Tensor,
    begins_q: Tensor, begins_k: Tensor, longest_q: int, longest_k: int, *rest: Any,
    scale: float | None = None, **_: Any,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """`aten::_efficient_attention_backward`: the gradients of q, k, v and the bias."""
    sizes = begins_q.diff(), begins_k.diff()
    parts, flows = _parts(q, k, v, *sizes), flow[0].split(sizes[0].tolist())
    actual = [
        _way_back(item, *part, rest[4], scale) for item, part in zip(flows, parts, strict=True)
    ]
    return (*(torch.cat(side)[None] for side in zip(*actual, strict=True)), None)


def _parts(
    q: Tensor, k: Tensor, v: Tensor, of_q: Tensor, of_k: Tensor
) -> Iterator[tuple[Any, ...]]:
    sides = ((q, of_q), (k, of_k), (v, of_k))
    return zip(*(x[0].split(sizes.tolist()) for x, sizes in sides), strict=True)


def _weights(q: Tensor, k: Tensor, causal: int, scale: float | None) -> tuple[Tensor, float]:
    """softmax(scale q kᵀ), [H, M, T], and the scale, of one sequence [M or T, H, K]."""
    scale = scale or 1 / math.sqrt(q.size(-1))
    scores = q.transpose(0, 1) @ k.permute(1, 2, 0) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(len(q), len(k)).triu(1).bool(), float("-inf"))
    return scores.softmax(-1), scale


def _attended(q: Tensor, k: Tensor, v: Tensor, causal: int, scale: float | None) -> Tensor:
    """One sequence: [1, M, H, K]."""
    weights, _ = _weights(q, k, causal, scale)
    return (weights @ v.transpose(0, 1)).transpose(0, 1)[None]


def _way_back(
    flow: Tensor, q: Tensor, k: Tensor, v: Tensor, causal: int, scale: float | None
) -> tuple[Tensor, ...]:
    weights, scale = _weights(q, k, causal, scale)
    flow, q, k, v = (x.transpose(0, 1) for x in (flow, q, k, v))  # [H, M or T, K]
    to_weights = flow @ v.mT
    to_scores = weights * (to_weights - (to_weights * weights).sum(-1, keepdim=True)) * scale
    back = to_scores @ k, to_scores.mT @ q, weights.mT @ flow
    return tuple(x.transpose(0, 1) for x in back)


@contextmanager
def as_on_a_gpu() -> Iterator[None]:
    """Let nested tensors take the kernel, as in a build of torch for GPUs."""
    with patch.object(sdpa, "can_use_efficient_attention", lambda *_, **__: True):
        yield
