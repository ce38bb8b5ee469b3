"""Token, position and segment embeddings.

Shapes: B sequences, T tokens in each, D size of a vector; … one leading dimension or two.
"""

import torch
from torch import Tensor, nn

from engine.config.model import EncoderSpec
from engine.models.fast.dropout import Dropout
from engine.models.fast.token_embedding import TokenEmbedding


class TokenPositionEmbeddings(nn.Module):
    """Sum of token and position embeddings, with layer norm.

    Families with rotary or relative positions have no position embedding.
    """

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.token = TokenEmbedding(spec.vocab_size, spec.token_size)
        self.position: nn.Embedding | None = None
        if spec.parts.positions == "learned":
            self.position = nn.Embedding(spec.position_rows, spec.token_size)
        bias = spec.parts.norm_biases
        self.norm = nn.LayerNorm(spec.token_size, eps=spec.layer_norm_eps, bias=bias)
        self.dropout = Dropout(spec.dropout)
        self.padding = spec.fixed_pad_id

    def forward(self, tokens: Tensor, segments: Tensor, positions: Tensor | None = None) -> Tensor:
        """Embed a batch as float [..., D].

        Args:
            tokens: int64 [B, T], ids of the tokenizer; T is at most `spec.max_positions`.
            segments: int64 [B, T], 0 in the first sentence and 1 in the second.
            positions: int64 [B, T]; None: computed by the method `positions`. If they are
                given, tokens may be flat, [N].
        """
        if positions is None:
            positions = self.positions(tokens)
        embedded: Tensor = self.dropout(self.norm(self.sum_embeddings(tokens, segments, positions)))
        return embedded

    def sum_embeddings(self, tokens: Tensor, segments: Tensor, positions: Tensor) -> Tensor:
        """Sum before the layer norm, float [..., D]."""
        summed: Tensor = self.token(tokens)
        return summed if self.position is None else summed + self.position(positions)

    def positions(self, tokens: Tensor) -> Tensor:
        """Row of the position embedding of each token, int64 [T] or [B, T].

        With a fixed padding id, positions start after it; padding has the id itself as position.
        """
        if self.padding is None:
            return torch.arange(tokens.size(1), device=tokens.device)
        mask = (tokens != self.padding).long()
        return mask.cumsum(1) * mask + self.padding


class Embeddings(TokenPositionEmbeddings):
    """Sum of token, position and segment embeddings (Devlin et al. 2019, §3).

    Some families have no positions or no segments.
    """

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__(spec)
        rows = spec.segment_rows
        self.segment = nn.Embedding(rows, spec.token_size) if rows else None
        self.uses_segments = spec.uses_segments

    def sum_embeddings(self, tokens: Tensor, segments: Tensor, positions: Tensor) -> Tensor:
        summed: Tensor = self.token(tokens)
        if self.segment is not None:
            summed = summed + self.segment(
                segments if self.uses_segments else torch.zeros_like(segments)
            )
        return summed if self.position is None else summed + self.position(positions)


class WidenedEmbeddings(Embeddings):
    """Token vectors smaller than the hidden size, projected up if the spec says so."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__(spec)
        self.widen: nn.Module = nn.Identity()
        if spec.projects_tokens:
            self.widen = nn.Linear(spec.token_size, spec.hidden_size)

    def forward(self, tokens: Tensor, segments: Tensor, positions: Tensor | None = None) -> Tensor:
        widened: Tensor = self.widen(super().forward(tokens, segments, positions))  # [..., D]
        return widened
