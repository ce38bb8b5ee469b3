"""From token ids to vectors.

Shapes: B sequences, T tokens in each, N tokens that are chosen, D width of a vector.
"""

import torch
from torch import Tensor, nn

from engine.models.fast.dropout import Dropout
from engine.spec.model import EncoderSpec


class TokenPositionEmbeddings(nn.Module):
    """What a token is and where it stands, summed, normalised per token."""

    def __init__(self, spec: EncoderSpec, width: int) -> None:
        super().__init__()
        self.token = nn.Embedding(spec.vocab_size, width)
        self.position = nn.Embedding(spec.places, width)
        self.norm = nn.LayerNorm(width, eps=spec.layer_norm_eps)
        self.dropout = Dropout(spec.dropout)

    def forward(self, tokens: Tensor, segments: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Embed a batch as float [B, T, D], or some of it as [N, D].

        Args:
            tokens: int64 [B, T], ids of the tokenizer; T is at most `spec.positions`.
            segments: int64 [B, T], 0 in the first sentence and 1 in the second.
            chosen: int64 [N], which places of the flattened [B * T] are embedded; None: all.
        """
        places = self.places(tokens)
        if chosen is not None:
            places = places.expand(tokens.shape).reshape(-1)[chosen]  # [N]
            tokens, segments = (given.reshape(-1)[chosen] for given in (tokens, segments))
        embedded: Tensor = self.dropout(self.norm(self.summed(tokens, segments, places)))
        return embedded

    def summed(self, tokens: Tensor, segments: Tensor, places: Tensor) -> Tensor:
        """The sum before the norm, float [..., D]."""
        summed: Tensor = self.token(tokens) + self.position(places)
        return summed

    def places(self, tokens: Tensor) -> Tensor:
        """The row of the position embedding for each token, int64 [T] or [B, T]."""
        return torch.arange(tokens.size(1), device=tokens.device)


class Embeddings(TokenPositionEmbeddings):
    """And which sentence a token is in (Devlin et al. 2019, §3)."""

    def __init__(self, spec: EncoderSpec, width: int, segments: int) -> None:
        super().__init__(spec, width)
        self.segment = nn.Embedding(segments, width)

    def summed(self, tokens: Tensor, segments: Tensor, places: Tensor) -> Tensor:
        summed: Tensor = self.token(tokens) + self.segment(segments) + self.position(places)
        return summed
