"""Multi-head self-attention (Vaswani et al. 2017, §3.2; Devlin et al. 2019, §3).

Shapes: B sequences, T tokens in each, D width, H heads, K width of a head (D = H * K); N tokens of
a batch without padding, M of them that ask.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.models.fast.dropout import Dropout
from engine.models.fast.unpadded import Unpadded
from engine.models.fast.unpadded_attention import attend
from engine.spec.model import EncoderSpec


class Attention(nn.Module):
    """Every token gathers from all tokens, in each head by other weights; then add and norm."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.heads, self.head_width = spec.heads, spec.head_size
        self.query = nn.Linear(spec.hidden_size, spec.hidden_size)
        self.key = nn.Linear(spec.hidden_size, spec.hidden_size)
        self.value = nn.Linear(spec.hidden_size, spec.hidden_size)
        self.output = nn.Linear(spec.hidden_size, spec.hidden_size)
        self.norm = nn.LayerNorm(spec.hidden_size, eps=spec.layer_norm_eps)
        self.weight_dropout = Dropout(spec.attention_dropout)
        self.dropout = Dropout(spec.dropout)

    def forward(
        self,
        x: Tensor,
        sight: Tensor | Unpadded | None,
        keep_weights: bool = False,
        looking: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend within each sequence.

        Args:
            x: float [B, T, D]; of a batch without padding [N, D].
            sight: who may look at whom. Of [B, T, D] a float, added to the scores [B, H, T, T] and
                shaped so that it can be: 0 where a token may look and -inf where it may not; None:
                all may look at all.
            keep_weights: go the explicit way and return the weights, before dropout.
            looking: float [B, R, D], those rows of x that are worked out; T becomes R in the rows
                of the bias and of what is returned. None: all.

        Returns:
            float [B, T, D] or [M, D], and float [B, H, T, T], query rows over key columns, or None.
        """
        if isinstance(sight, Unpadded):
            return self._ragged(x, sight), None
        looking = x if looking is None else looking
        q, k, v = map(self._by_head, self.projected(looking, x))
        weights = None
        if keep_weights or self._fused_is_slow(q):
            gathered, weights = self._explicit(q, k, v, sight)
        else:
            gathered = self._fused(q, k, v, sight)
        joined = gathered.transpose(1, 2).flatten(2)  # [B, T, D]
        out = self.norm(looking + self.dropout(self.output(joined)))
        return out, weights if keep_weights else None

    def weights(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """The weights alone, float [B, H, T, T]; x and bias as for attending."""
        q, k, _ = map(self._by_head, self.projected(x, x))
        return self._weights(q, k, bias)

    def projected(self, looking: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [..., R, D] of those that look, keys and values [..., T, D] of all."""
        return self.query(looking), self.key(x), self.value(x)

    def _ragged(self, x: Tensor, where: Unpadded) -> Tensor:
        """[N, D] → [M, D], without the weights."""
        asking = x if where.rows is None else x.index_select(0, where.rows)
        share = self.weight_dropout.p if self.training else 0.0
        gathered = attend(*self.projected(asking, x), where, share)
        out: Tensor = self.norm(asking + self.dropout(self.output(gathered)))
        return out

    def _explicit(
        self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """softmax(q kᵀ / √K) v, as the paper has it; gives the softmax too."""
        weights = self._weights(q, k, bias)
        return self.weight_dropout(weights).to(v.dtype) @ v, weights  # [B, H, T, K]

    def _weights(self, q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
        scores = (q / math.sqrt(self.head_width)) @ k.transpose(-1, -2)  # [B, H, T, T]
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        return scores.softmax(-1)

    def _fused(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        """The same in one step of the library, which never holds [B, H, T, T] at once."""
        return F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=None if bias is None else bias.to(q.dtype),
            dropout_p=self.weight_dropout.p if self.training else 0.0,
        )  # [B, H, T, K]

    def _fused_is_slow(self, q: Tensor) -> bool:
        """On a processor it has no quick way with dropout, nor back through bfloat16."""
        dropping = self.weight_dropout.p > 0
        reduced = q.dtype != torch.float32
        on_processor: bool = q.device.type == "cpu"
        return self.training and on_processor and (dropping or reduced)

    def _by_head(self, x: Tensor) -> Tensor:
        """[B, T, D] → [B, H, T, K]"""
        return x.view(*x.shape[:2], self.heads, self.head_width).transpose(1, 2)
