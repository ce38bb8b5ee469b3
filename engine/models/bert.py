"""BERT (Devlin et al. 2019), readable beside the paper.

Shapes: B sequences, T tokens in each, D width, H heads, L layers.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from engine.models.attention import Attention
from engine.models.embeddings import Embeddings
from engine.models.feed_forward import FeedForward
from engine.models.heads import ClassHead, Heads, MaskedWordHead, NextSentenceHead, Pooler
from engine.spec.model import BertSpec


class Encoded(NamedTuple):
    """What the encoder makes of a batch."""

    last: Tensor  # [B, T, D]
    pooled: Tensor | None  # [B, D]
    hidden: tuple[Tensor, ...]  # L + 1 of [B, T, D], the embeddings first; or empty
    weights: tuple[Tensor, ...]  # L of [B, H, T, T]; or empty


class Layer(nn.Module):
    """Attention, then feed-forward."""

    def __init__(self, spec: BertSpec) -> None:
        super().__init__()
        self.attention = Attention(spec)
        self.feed_forward = FeedForward(spec)

    def forward(
        self, x: Tensor, bias: Tensor | None, keep_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        x, weights = self.attention(x, bias, keep_weights)
        return self.feed_forward(x), weights


class Bert(nn.Module):
    """Embeddings, a stack of layers, and the pooler where a head needs it."""

    def __init__(self, spec: BertSpec, pooler: bool = True) -> None:
        super().__init__()
        self.spec = spec
        self.embeddings = Embeddings(spec)
        self.layers = nn.ModuleList(Layer(spec) for _ in range(spec.layers))
        self.pooler = Pooler(spec) if pooler else None

    def forward(
        self,
        tokens: Tensor,
        segments: Tensor,
        real: Tensor | None = None,
        keep_weights: bool = False,
        keep_hidden: bool = False,
    ) -> Encoded:
        """Encode a batch.

        Args:
            tokens, segments: int64 [B, T].
            real: bool [B, T], False on padding; None where there is none.
            keep_weights: keep the attention of every layer.
            keep_hidden: keep the vectors after every layer.
        """
        x = self.embeddings(tokens, segments)
        bias = None
        if real is not None:
            bias = torch.zeros(real.shape, dtype=x.dtype, device=x.device)
            bias = bias.masked_fill(~real, float("-inf"))[:, None, None]  # [B, 1, 1, T]
        hidden, weights = [x], list[Tensor]()
        for layer in self.layers:
            x, looked = layer(x, bias, keep_weights)
            if keep_hidden:
                hidden.append(x)
            if looked is not None:
                weights.append(looked)
        pooled = None if self.pooler is None else self.pooler(x)
        return Encoded(x, pooled, tuple(hidden) if keep_hidden else (), tuple(weights))


class Network(nn.Module):
    """The encoder and its heads."""

    def __init__(self, spec: BertSpec, heads: Heads) -> None:
        """Fresh weights: normal with `spec.initial_spread`, biases 0, norms 1."""
        super().__init__()
        self.spec = spec
        self.encoder = Bert(spec, heads.needs_pooler)
        token = self.encoder.embeddings.token
        self.masked_words = MaskedWordHead(spec, token) if heads.masked_words else None
        self.next_sentence = NextSentenceHead(spec) if heads.next_sentence else None
        self.classes = ClassHead(spec, heads.classes) if heads.classes else None
        self.apply(self._fresh)

    def _fresh(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=self.spec.initial_spread)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
