"""What all networks of the family share: a stack of layers over embeddings.

Shapes: B sequences, T tokens in each, D width, H heads, L layers.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as forgetting

from engine.models.attention import Attention
from engine.models.embeddings import PlacedWords
from engine.models.feed_forward import FeedForward
from engine.spec.model import EncoderSpec


class Encoded(NamedTuple):
    """What the encoder makes of a batch."""

    last: Tensor  # [B, T, D]
    pooled: Tensor | None  # [B, D]
    hidden: tuple[Tensor, ...]  # L + 1 of [B, T, D], the embeddings first; or empty
    weights: tuple[Tensor, ...]  # L of [B, H, T, T]; or empty


class Layer(nn.Module):
    """Attention, then feed-forward."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.attention = Attention(spec)
        self.feed_forward = FeedForward(spec)

    def forward(
        self, x: Tensor, bias: Tensor | None, keep_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        x, weights = self.attention(x, bias, keep_weights)
        return self.feed_forward(x), weights

    def at(self, x: Tensor, bias: Tensor | None, places: Tensor) -> Tensor:
        """The same for some tokens of each sequence, int64 [B, R]; [B, T, D] → [B, R, D]."""
        looking = picked(x, places)
        if bias is not None and bias.size(2) > 1:
            rows = bias[:, 0].expand(x.size(0), -1, -1)  # [B, T, T]
            bias = picked(rows, places)[:, None]  # [B, 1, R, T]
        gathered, _ = self.attention(x, bias, looking=looking)
        out: Tensor = self.feed_forward(gathered)
        return out


def picked(rows: Tensor, places: Tensor) -> Tensor:
    """Of [B, T, …] the rows at int64 [B, R]: [B, R, …]."""
    return rows[torch.arange(rows.size(0), device=rows.device)[:, None], places]


class Encoder(nn.Module):
    """Embeddings, a stack of layers, and the pooler where a head needs it.

    A subclass says what each of them is; `causal` lets no token look at a later one.
    """

    def __init__(
        self,
        embeddings: PlacedWords,
        layers: Iterable[Layer],
        pooler: nn.Module | None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.embeddings = embeddings
        self.layers = nn.ModuleList(layers)
        self.pooler = pooler
        self.causal = causal
        self.recomputes = False  # the inside of the layers on the way back, instead of keeping it

    def passes(self) -> Iterator[nn.Module]:
        """The layer that works at each of the L heights, the lowest first."""
        return iter(self.layers)

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
            tokens: int64 [B, T], ids of the tokenizer; T is at most `spec.positions`.
            segments: int64 [B, T], 0 in the first sentence and 1 in the second.
            real: bool [B, T], False on padding, True for one token of each sequence at least, and
                in a left-to-right network for the first; None where there is no padding, which is
                quicker.
            keep_weights: keep the attention of every layer.
            keep_hidden: keep the embeddings and the vectors after every layer.
        """
        x = self.embeddings(tokens, segments)
        bias = self.bias(x, real)
        hidden, weights = [x], list[Tensor]()
        for layer in self.passes():
            if self.recomputes and self.training:
                x, looked = forgetting(layer, x, bias, keep_weights, use_reentrant=False)
            else:
                x, looked = layer(x, bias, keep_weights)
            if keep_hidden:
                hidden.append(x)
            if looked is not None:
                weights.append(looked)
        pooled = None
        if self.pooler is not None:
            pooled = self.pooler(picked(x, self.summing_up(x, real)) if self.causal else x)
        return Encoded(x, pooled, tuple(hidden) if keep_hidden else (), tuple(weights))

    def at(
        self, tokens: Tensor, segments: Tensor, places: Tensor, real: Tensor | None = None
    ) -> Tensor:
        """The last vectors of some tokens alone, which the last layer works out and no others.

        Args:
            places: int64 [B, R], places in each sequence; the other arguments as for all tokens.

        Returns:
            float [B, R, D].
        """
        x = self.embeddings(tokens, segments)
        bias = self.bias(x, real)
        *lower, top = self.passes()
        for layer in lower:
            x, _ = layer(x, bias, False)
        assert isinstance(top, Layer)
        return top.at(x, bias, places)

    def pooled(self, tokens: Tensor, segments: Tensor, real: Tensor | None = None) -> Tensor:
        """What the pooler makes of each sequence, float [B, D], at the least cost."""
        assert self.pooler is not None
        pooled: Tensor = self.pooler(self.at(tokens, segments, self.summing_up(tokens, real), real))
        return pooled

    def bias(self, x: Tensor, real: Tensor | None) -> Tensor | None:
        """What is added to the scores: -inf on padding, and on all that comes later where the
        network is left-to-right.

        None, or float [1 or B, 1, 1 or T, T].
        """
        if real is None and not self.causal:
            return None
        hidden = torch.zeros((1, 1, 1, x.size(1)), dtype=torch.bool, device=x.device)
        if real is not None:
            hidden = ~real[:, None, None]  # [B, 1, 1, T]
        if self.causal:
            square = torch.ones((x.size(1), x.size(1)), dtype=torch.bool, device=x.device)
            hidden = hidden | square.triu(1)  # [1 or B, 1, T, T]
        bias = torch.zeros(hidden.shape, dtype=x.dtype, device=x.device)
        return bias.masked_fill(hidden, float("-inf"))

    def summing_up(self, rows: Tensor, real: Tensor | None) -> Tensor:
        """The place that has seen the whole input, int64 [B, 1]: [CLS] has, but in a left-to-right
        network only the last token, as in Radford et al. 2018, §3.2. `rows` are [B, T, …]."""
        if not self.causal:
            return rows.new_zeros((rows.size(0), 1), dtype=torch.long)
        if real is not None:
            return real.sum(1, keepdim=True) - 1
        return rows.new_full((rows.size(0), 1), rows.size(1) - 1, dtype=torch.long)
