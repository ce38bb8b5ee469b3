"""The encoder of the paper: embeddings, a stack of layers, a pooler.

Batches are padded, and padding is computed. `engine.models.fast` runs the same layers on other
layouts; tests check that its results are equal.

Shapes: B sequences, T tokens in each, D hidden size, H heads, L layers; M selected tokens.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as activation_checkpoint

from engine.config.model import EncoderSpec
from engine.models.attention import Attention, Layout, PaddedLayout, gather_rows
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.fast.dropout import replay_contexts
from engine.models.feed_forward import FEED_FORWARDS
from engine.models.heads import Pooler
from engine.models.relative import relative_positions


class Encoded(NamedTuple):
    """Output of the encoder."""

    last: Tensor  # [B, T, D]; [M, D] for selected tokens
    pooled: Tensor | None  # [B, D]
    hidden: tuple[Tensor, ...] = ()  # L + 1 of [B, T, D], starting with the embeddings; or empty
    weights: tuple[Tensor, ...] = ()  # L of [B, H, T, T]; or empty


class Layer(nn.Module):
    """Attention and feed-forward block, each with residual connection and layer norm."""

    def __init__(self, spec: EncoderSpec, index: int = 0) -> None:
        """`index` counts the layers from 0."""
        super().__init__()
        self.attention = Attention(spec, index)
        self.feed_forward = FEED_FORWARDS[spec.parts.feed_forward](spec)

    def forward(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor | None]:
        """float [B, T, D] → [B, R, D], and the attention weights if the layout keeps them."""
        x, weights = self.attention(x, layout)
        return self.feed_forward(x), weights


class Encoder(nn.Module):
    """Embeddings, a stack of layers, and a pooler if a head needs it; families set the classes."""

    embeddings_class: type[TokenPositionEmbeddings]
    layer_class: type[Layer] = Layer

    def __init__(self, spec: EncoderSpec, pooler: bool = True) -> None:
        super().__init__()
        self.embeddings = self.embeddings_class(spec)
        self.layers = nn.ModuleList(self.layer_class(spec, n) for n in range(spec.stored_layers))
        self.norm: nn.Module = nn.Identity()
        if spec.parts.norm == "pre":
            eps, bias = spec.layer_norm_eps, spec.parts.norm_biases
            self.norm = nn.LayerNorm(spec.hidden_size, eps=eps, bias=bias)
        self.pooler = self.make_pooler(spec) if pooler else None
        self.relative = relative_positions(spec)  # relative-position scores of all layers
        self.causal = spec.is_causal  # no token attends to a later one
        self.heads = spec.heads
        self.windows = tuple(dict.fromkeys(map(spec.parts.window_at, range(spec.stored_layers))))
        self.activation_checkpointing = False  # recompute activations in the backward pass
        self.nested = False  # use kernels for nested tensors on unpadded batches
        self.token_multiple = 1  # see `engine.models.fast.unpadded`
        self.fixed_widths = False  # see `engine.models.fast.padded_blocks`
        self.computes_padding = False  # for CUDA graphs: never skip padding
        self.cached_layers = 0  # number of lowest layers whose output a batch may contain

    def make_pooler(self, spec: EncoderSpec) -> nn.Module:
        """Layer on [CLS], [B, T, D] → [B, D]; in most families a part of a head for whole texts."""
        return Pooler(spec)

    def forward(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None = None,
        keep_weights: bool = False,
        keep_hidden: bool = False,
    ) -> Encoded:
        """Encode a batch.

        Args:
            tokens: int64 [B, T], ids of the tokenizer; T is at most `spec.max_positions`.
            segments: int64 [B, T], 0 in the first sentence and 1 in the second.
            attention_mask: bool [B, T], False on padding, True for at least one token of each
                sequence; None without padding, which is faster.
            keep_weights: return the attention weights of every layer.
            keep_hidden: return the embeddings and the output of every layer.
        """
        x = self.embeddings(tokens, segments)
        layout = self.padded_layout(x, attention_mask, keep_weights)
        hidden, weights = list[Tensor](), list[Tensor]()
        for layer in self.iter_layers():
            if keep_hidden:
                hidden.append(x)
            x, layer_weights = self.run_layer(layer, x, layout)
            if layer_weights is not None:
                weights.append(layer_weights)
        last = self.norm(x)
        if keep_hidden:
            hidden.append(last)
        pooled = None
        if self.pooler is not None:
            inputs = last
            if self.causal:
                inputs = gather_rows(last, self.pooled_positions(last, attention_mask))
            pooled = self.pooler(inputs)
        return Encoded(last, pooled, tuple(hidden), tuple(weights))

    def iter_layers(self) -> Iterator[nn.Module]:
        """The L layers in order, lowest first; shared layers are repeated."""
        return iter(self.layers)

    def run_layer(
        self, layer: nn.Module, x: Tensor, layout: Layout
    ) -> tuple[Tensor, Tensor | None]:
        """Run one layer, with activation checkpointing if enabled."""
        if self.activation_checkpointing and self.training:
            options: dict[str, Any] = {}
            if x.device.type == "cpu":
                options = {"preserve_rng_state": False, "context_fn": replay_contexts}
            result: tuple[Tensor, Tensor | None] = activation_checkpoint(
                layer, x, layout, use_reentrant=False, **options
            )
            return result
        x, weights = layer(x, layout)
        return x, weights

    def padded_layout(
        self,
        x: Tensor,
        attention_mask: Tensor | None,
        keep_weights: bool = False,
        query_rows: Tensor | None = None,
    ) -> PaddedLayout:
        """The padded layout of embedded tokens [B, T, D]; for `query_rows` see `PaddedLayout`."""
        positions = torch.arange(x.size(1), device=x.device)
        bias = self.attention_bias(x, attention_mask)
        relative = None
        if self.relative is not None:
            queries = positions[None] if query_rows is None else query_rows  # [1 or B, R]
            relative = self.relative(queries[..., None] - positions)
        return PaddedLayout(positions, bias, keep_weights, query_rows, relative)

    def attention_bias(self, x: Tensor, attention_mask: Tensor | None) -> Tensor | None:
        """Score bias: -inf on padding, and on later tokens if causal.

        None, or float [1 or B, 1, 1 or T, T].
        """
        if attention_mask is None and not self.causal:
            return None
        masked = torch.zeros((1, 1, 1, x.size(1)), dtype=torch.bool, device=x.device)
        if attention_mask is not None:
            masked = ~attention_mask[:, None, None]  # [B, 1, 1, T]
        if self.causal:
            square = torch.ones((x.size(1), x.size(1)), dtype=torch.bool, device=x.device)
            masked = masked | square.triu(1)  # [1 or B, 1, T, T]
        bias = torch.zeros(masked.shape, dtype=x.dtype, device=x.device)
        return bias.masked_fill(masked, float("-inf"))

    def pooled_positions(self, rows: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Token that summarises the input, int64 [B, 1]: [CLS], or the last token of a causal
        network (Radford et al. 2018, §3.2). `rows` are [B, T, …]."""
        if not self.causal:
            return rows.new_zeros((rows.size(0), 1), dtype=torch.long)
        if attention_mask is not None:
            return attention_mask.sum(1, keepdim=True) - 1
        return rows.new_full((rows.size(0), 1), rows.size(1) - 1, dtype=torch.long)
