"""Multi-head self-attention (Vaswani et al. 2017, §3.2; Devlin et al. 2019, §3).

Shapes: B sequences, T tokens in each, D width, H heads, K width of a head (D = H * K).
"""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from engine.spec.model import BertSpec


class Attention(nn.Module):
    """Every token gathers from all tokens, in each head by other weights; then add and norm."""

    def __init__(self, spec: BertSpec) -> None:
        super().__init__()
        self.heads, self.head_width = spec.heads, spec.head_width
        self.query = nn.Linear(spec.width, spec.width)
        self.key = nn.Linear(spec.width, spec.width)
        self.value = nn.Linear(spec.width, spec.width)
        self.output = nn.Linear(spec.width, spec.width)
        self.norm = nn.LayerNorm(spec.width, eps=spec.norm_eps)
        self.weight_dropout = nn.Dropout(spec.attention_dropout)
        self.dropout = nn.Dropout(spec.dropout)

    def forward(
        self, x: Tensor, bias: Tensor | None, keep_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Attend within each sequence.

        Args:
            x: float [B, T, D].
            bias: float [B, 1, 1, T], 0 where a token stands and -inf on padding; None: no padding.
            keep_weights: go the explicit way and return the weights, before dropout.

        Returns:
            float [B, T, D], and float [B, H, T, T], query rows over key columns, or None.
        """
        q, k, v = (self._by_head(part(x)) for part in (self.query, self.key, self.value))
        dropping = self.training and self.weight_dropout.p > 0
        weights = None
        if keep_weights or dropping:  # on a CPU the fused way is slow with dropout
            scores = q @ k.transpose(-1, -2) / math.sqrt(self.head_width)  # [B, H, T, T]
            weights = (scores if bias is None else scores + bias).softmax(-1)
            gathered = self.weight_dropout(weights).to(v.dtype) @ v  # [B, H, T, K]
        else:
            gathered = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        joined = gathered.transpose(1, 2).flatten(2)  # [B, T, D]
        out = self.norm(x + self.dropout(self.output(joined)))
        return out, weights if keep_weights else None

    def _by_head(self, x: Tensor) -> Tensor:
        """[B, T, D] → [B, H, T, K]"""
        return x.unflatten(2, (self.heads, self.head_width)).transpose(1, 2)
