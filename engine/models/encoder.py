"""What all networks of the family share: a stack of layers over embeddings.

Shapes: B sequences, T tokens in each, D width, H heads, L layers; N tokens of a batch without
padding, M places that are asked for.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as activation_checkpoint

from engine.models.attention import Attention
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.fast.dropout import the_same_again
from engine.models.fast.unpadded import Unpadded, ragged
from engine.models.feed_forward import FeedForward
from engine.spec.model import EncoderSpec


class Encoded(NamedTuple):
    """What the encoder makes of a batch."""

    last: Tensor  # [B, T, D]; [M, D] where some places alone were asked for
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
        self, x: Tensor, sight: Tensor | Unpadded | None, keep_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        x, weights = self.attention(x, sight, keep_weights)
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
        embeddings: TokenPositionEmbeddings,
        layers: Iterable[Layer],
        pooler: nn.Module | None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        made = list(layers)
        self.embeddings = embeddings
        self.layers = nn.ModuleList(made)
        self.heads = made[0].attention.heads
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
        places: Tensor | None = None,
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
            places: int64 [M], of which places in the flattened [B * T] the last vectors are wanted,
                real ones; None: of all. The last layer need not work out the others.
        """
        if self._spares(real, keep_weights or keep_hidden):
            return self._without_padding(tokens, segments, real, places)
        x = self.embeddings(tokens, segments)
        bias = self.bias(x, real)
        hidden, weights = [x], list[Tensor]()
        for layer in self.passes():
            x, looked = self._through(layer, x, bias, keep_weights)
            if keep_hidden:
                hidden.append(x)
            if looked is not None:
                weights.append(looked)
        pooled = None
        if self.pooler is not None:
            pooled = self.pooler(picked(x, self.summing_up(x, real)) if self.causal else x)
        last = x if places is None else x.flatten(0, 1)[places]
        return Encoded(last, pooled, tuple(hidden) if keep_hidden else (), tuple(weights))

    def _spares(self, real: Tensor | None, keeps: bool) -> bool:
        """Whether only real tokens are worked on; else all, as the paper has it, which is what is
        looked into, exported, and quicker for a sentence alone."""
        if keeps or torch.compiler.is_compiling():
            return False
        return self.training or real is not None

    def _without_padding(
        self, tokens: Tensor, segments: Tensor, real: Tensor | None, places: Tensor | None
    ) -> Encoded:
        """The same from the real tokens alone; where all are asked for, padding is 0."""
        B, T = tokens.shape
        table = torch.ones_like(tokens, dtype=torch.bool) if real is None else real
        asked = places
        if places is not None and self.pooler is not None:
            asked = torch.cat([places, self._summing_up_in(table)])
        where, at_last = ragged(table, self.heads, self.causal, asked)
        x = self.embeddings(tokens, segments, where.places)  # [N, D]
        layers = list(self.passes())
        for layer in layers[:-1]:
            x, _ = self._through(layer, x, where)
        x, _ = self._through(layers[-1], x, at_last)
        if at_last.order is not None:
            assert places is not None
            x = x.index_select(0, at_last.order)
            last, summing = x[: len(places)], x[len(places) :]
        else:
            spread = x.new_zeros(B * T, x.size(1)).index_copy(0, where.places, x)
            last = spread.view(B, T, -1) if places is None else spread[places]
            summing = spread[self._summing_up_in(table)]
        pooled = None if self.pooler is None else self.pooler(summing[:, None])
        return Encoded(last, pooled, (), ())

    def _through(
        self,
        layer: nn.Module,
        x: Tensor,
        sight: Tensor | Unpadded | None,
        keep_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """One layer, of which nothing inside is kept for the way back where memory is spared."""
        if self.recomputes and self.training:
            again: dict[str, Any] = {}
            if x.device.type == "cpu":
                again = {"preserve_rng_state": False, "context_fn": the_same_again}
            done: tuple[Tensor, Tensor | None] = activation_checkpoint(
                layer, x, sight, keep_weights, use_reentrant=False, **again
            )
            return done
        x, looked = layer(x, sight, keep_weights)
        return x, looked

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
        if self._spares(real, False):
            found: Tensor | None = self(tokens, segments, real, places=tokens.new_empty(0)).pooled
            assert found is not None
            return found
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

    def _summing_up_in(self, real: Tensor) -> Tensor:
        """The same in the flattened [B * T], int64 [B]."""
        first = torch.arange(0, real.numel(), real.size(1), device=real.device)
        return first + self.summing_up(real, real)[:, 0]
