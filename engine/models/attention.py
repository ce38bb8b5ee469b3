"""Multi-head self-attention (Vaswani et al. 2017, §3.2; Devlin et al. 2019, §3).

Shapes: B sequences, T tokens in each, R query tokens (usually all), D hidden size, H heads, K size
of a head (D = H * K); … any leading dimensions.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.config.model import EncoderSpec
from engine.models.fast.dropout import Dropout
from engine.models.fast.linear import Linear
from engine.models.relative import Relative, Rotary


class Layout(Protocol):
    """Memory layout of the tokens of a batch, and attention over it.

    `PaddedLayout` follows the paper; `engine.models.fast` has a layout without padding.
    """

    @property
    def positions(self) -> Tensor:
        """int64, position of each token in its sequence."""
        ...

    @property
    def query_positions(self) -> Tensor:
        """int64, position of each query token in its sequence."""
        ...

    def take_queries(self, x: Tensor) -> Tensor:
        """Vectors of the query tokens: all, or some in the last layer."""
        ...

    def shift(self, x: Tensor, by: int) -> Tensor:
        """Vector `by` positions after each token, 0 outside its sequence; same shape as x."""
        ...

    def attend(
        self, attention: "Attention", q: Tensor, k: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Attention output of the query tokens, same shape as q, and the weights if kept."""
        ...


class Attention(nn.Module):
    """Multi-head self-attention with residual connection and layer norm."""

    def __init__(self, spec: EncoderSpec, index: int = 0) -> None:
        """`index` counts the layers from 0."""
        super().__init__()
        parts, size = spec.parts, spec.hidden_size
        self.heads, self.head_size = spec.heads, spec.head_size
        self.kept_heads: list[int] | None = None  # remaining heads of the spec; None: all
        self.window = parts.window_at(index)
        self.scale = 1 / math.sqrt(spec.head_size * (3 if parts.relative == "disentangled" else 1))
        self.rotary = None
        if parts.positions == "rotary":
            self.rotary = Rotary(spec.heads, parts.rotary_base_at(index))
        self.query: nn.Linear = Linear(size, size, bias=parts.biases)
        self.key = Linear(size, size, bias=parts.biases)
        self.value = Linear(size, size, bias=parts.biases)
        self.output: nn.Linear = Linear(size, size, bias=parts.biases)
        self.pre_norm = parts.norm == "pre"
        self.norm: nn.Module = nn.LayerNorm(size, eps=spec.layer_norm_eps, bias=parts.norm_biases)
        if self.pre_norm and index == 0 and not parts.first_norm:
            self.norm = nn.Identity()
        self.weight_dropout = Dropout(spec.attention_dropout)
        self.dropout = Dropout(spec.dropout)

    def forward(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor | None]:
        """Attend within each sequence.

        Args:
            x: float [B, T, D], or in the shape of the layout.

        Returns:
            float [B, R, D], and the weights, float [B, H, R, T], if the layout keeps them.
        """
        residual, q, k, v = self._project(x, layout)
        gathered, weights = layout.attend(self, q, k, v)
        out = self.dropout.add_to(residual, self.output(gathered))
        return (out if self.pre_norm else self.norm(out)), weights

    def weights(self, x: Tensor, layout: "PaddedLayout") -> Tensor:
        """Attention weights only, float [B, H, R, T]."""
        Q, K = self.queries_and_keys(x, layout)
        return attention_weights(Q, K, layout.score_bias(self, Q, K), self.scale)

    def queries_and_keys(self, x: Tensor, layout: "PaddedLayout") -> tuple[Tensor, Tensor]:
        """Queries and keys before their product, float [B, H, R or T, K]; rotated if rotary."""
        _, q, k, _ = self._project(x, layout)
        return split_heads(q, self.heads), split_heads(k, self.heads)

    def project(self, query_input: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [..., R, D] of `query_input`; keys and values [..., T, D] of x."""
        return self.query(query_input), self.key(x), self.value(x)

    def projection_input(self, x: Tensor) -> Tensor:
        """Input of the projections, float [..., D]; normalised if pre-norm."""
        normalised: Tensor = self.norm(x) if self.pre_norm else x
        return normalised

    def _project(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Residual and queries, float [..., R, D]; keys and values, float [..., T, D]."""
        inputs = self.projection_input(x)
        residual = layout.take_queries(x)
        query_input = layout.take_queries(inputs) if self.pre_norm else residual
        q, k, v = self.project(query_input, inputs)
        if self.rotary is not None:
            q, k = self.rotary(q, layout.query_positions), self.rotary(k, layout.positions)
        return residual, q, k, v


@dataclass(frozen=True)
class PaddedLayout:
    """Sequences padded to the same length, [B, T, D]."""

    positions: Tensor  # int64 [T]
    # float [1 or B, 1, 1 or T, T], added to the scores: 0, or -inf if masked; None: no mask
    attention_bias: Tensor | None = None
    keep_weights: bool = False  # use the explicit path and return the weights before dropout
    query_rows: Tensor | None = None  # int64 [B, R], positions of the query tokens; None: all
    relative: Relative | None = None  # relative-position scores

    @property
    def query_positions(self) -> Tensor:
        return self.positions if self.query_rows is None else self.query_rows

    def take_queries(self, x: Tensor) -> Tensor:
        return x if self.query_rows is None else gather_rows(x, self.query_rows)  # [B, R, D]

    def shift(self, x: Tensor, by: int) -> Tensor:
        if self.attention_bias is not None:  # zero padding
            mask = self.attention_bias[:, 0, -1] == 0  # [1 or B, T]
            x = x * mask[..., None].to(x.dtype)
        positions = self.positions + by  # [T]
        is_valid = (positions >= 0) & (positions < x.size(1))
        shifted: Tensor = x[:, positions.clamp(0, x.size(1) - 1)] * is_valid[:, None].to(x.dtype)
        return shifted

    def attend(
        self, attention: Attention, q: Tensor, k: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        heads = attention.heads
        Q, K, V = split_heads(q, heads), split_heads(k, heads), split_heads(v, heads)
        bias = self.score_bias(attention, Q, K)
        weights = None
        if self.keep_weights or fused_is_slow(attention, Q):
            weights = attention_weights(Q, K, bias, attention.scale)
            gathered = attention.weight_dropout(weights).to(V.dtype) @ V  # [B, H, R, K]
        else:
            dropout = attention.weight_dropout.p if attention.training else 0.0
            gathered = fused_attention(Q, K, V, bias, dropout, attention.scale)
        joined = gathered.transpose(1, 2).flatten(2)  # [B, R, D]
        return joined, weights if self.keep_weights else None

    def score_bias(self, attention: Attention, q: Tensor, k: Tensor) -> Tensor | None:
        """Everything added to the scores of queries and keys [B, H, R or T, K]."""
        bias = self.bias(attention.window)
        if self.relative is None:
            return bias
        terms = [term for _, term in self.relative.terms(attention, q, k)]
        return sum(terms[1:], terms[0]) if bias is None else sum(terms, bias)

    def bias(self, window: int | None = None) -> Tensor | None:
        """Score bias for attention limited to `window` tokens on each side."""
        bias = self.attention_bias
        if window is not None:
            far = (self.positions[:, None] - self.positions).abs() > window  # [T, T]
            outside = torch.zeros(far.shape, device=far.device).masked_fill(far, float("-inf"))
            bias = outside[None, None] if bias is None else bias + outside.to(bias.dtype)
            unused = bias.isneginf().all(-1, keepdim=True)  # padding outside every window
            bias = bias.masked_fill(unused, 0)
        if bias is None or self.query_rows is None or bias.size(2) == 1:
            return bias
        B = self.query_rows.size(0)  # len() would be a constant in an ONNX graph
        rows = bias[:, 0].expand(B, -1, -1)  # [B, T, T]
        return gather_rows(rows, self.query_rows)[:, None]  # [B, 1, R, T]


def attention_weights(q: Tensor, k: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """softmax(scale q kᵀ), float [B, H, R, T]; q and k are [B, H, R or T, K]."""
    scores = (q * scale) @ k.transpose(-1, -2)  # [B, H, R, T]
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    return scores.softmax(-1)


def fused_attention(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """softmax(scale q kᵀ) v by SDPA, without materialising [B, H, T, T]."""
    bias = None if bias is None else bias.to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout, scale=scale)


def fused_is_slow(attention: Attention, q: Tensor) -> bool:
    """True in training on a CPU with dropout or reduced precision, for which SDPA is slow."""
    has_dropout = attention.weight_dropout.p > 0
    is_reduced = q.dtype != torch.float32
    on_cpu: bool = q.device.type == "cpu"
    return attention.training and on_cpu and (has_dropout or is_reduced)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, T, D] → [B, H, T, K]"""
    return x.view(*x.shape[:2], heads, x.size(2) // heads).transpose(1, 2)


def gather_rows(rows: Tensor, positions: Tensor) -> Tensor:
    """Select the rows int64 [B, R] of [B, T, …]: [B, R, …]."""
    return rows[torch.arange(rows.size(0), device=rows.device)[:, None], positions]
