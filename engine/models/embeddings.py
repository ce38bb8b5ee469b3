"""From token ids to vectors.

Shapes: B sequences, T tokens in each, D width of a vector.
"""

import torch
from torch import Tensor, nn

from engine.models.dropout import Dropout
from engine.spec.model import BertSpec


class Embeddings(nn.Module):
    """What a token is, where it stands, and which sentence it is in, summed (Devlin 2019, §3)."""

    def __init__(self, spec: BertSpec) -> None:
        super().__init__()
        self.token = nn.Embedding(spec.vocabulary, spec.width)
        self.position = nn.Embedding(spec.positions, spec.width)
        self.segment = nn.Embedding(spec.segments, spec.width)
        self.norm = nn.LayerNorm(spec.width, eps=spec.norm_eps)
        self.dropout = Dropout(spec.dropout)

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        """Embed a batch as float [B, T, D], normalised per token.

        Args:
            tokens: int64 [B, T], ids of the tokenizer; T is at most `spec.positions`.
            segments: int64 [B, T], 0 in the first sentence and 1 in the second.
        """
        position = torch.arange(tokens.size(1), device=tokens.device)  # [T]
        summed = self.token(tokens) + self.segment(segments) + self.position(position)
        embedded: Tensor = self.dropout(self.norm(summed))
        return embedded
