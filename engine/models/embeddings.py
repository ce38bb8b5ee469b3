"""From token ids to vectors.

Shapes: B sequences, T tokens in each, D size of a vector; … one leading dimension or two.
"""

import torch
from torch import Tensor, nn

from engine.config.model import EncoderSpec
from engine.models.fast.dropout import Dropout
from engine.models.fast.token_embedding import TokenEmbedding


class TokenPositionEmbeddings(nn.Module):
    """What a token is and where it stands, summed, normalised per token.

    Where it stands is left to the attention of families that turn queries and keys by it.
    """

    def __init__(self, spec: EncoderSpec, size: int) -> None:
        super().__init__()
        self.token = TokenEmbedding(spec.vocab_size, size)
        self.position: nn.Embedding | None = None
        if spec.parts.positions == "learned":
            self.position = nn.Embedding(spec.position_rows, size)
        self.norm = nn.LayerNorm(size, eps=spec.layer_norm_eps, bias=spec.parts.norm_biases)
        self.dropout = Dropout(spec.dropout)

    def forward(self, tokens: Tensor, segments: Tensor, positions: Tensor | None = None) -> Tensor:
        """Embed a batch as float [..., D].

        Args:
            tokens: int64 [B, T], ids of the tokenizer; T is at most `spec.max_positions`.
            segments: int64 [B, T], 0 in the first sentence and 1 in the second.
            positions: int64 [B, T], as `positions` gives them; None: these. With them the tokens
                may also come one after another, [N].
        """
        if positions is None:
            positions = self.positions(tokens)
        embedded: Tensor = self.dropout(self.norm(self.summed(tokens, segments, positions)))
        return embedded

    def summed(self, tokens: Tensor, segments: Tensor, positions: Tensor) -> Tensor:
        """The sum before the norm, float [..., D]."""
        summed: Tensor = self.token(tokens)
        return summed if self.position is None else summed + self.position(positions)

    def positions(self, tokens: Tensor) -> Tensor:
        """The row of the position embedding for each token, int64 [T] or [B, T]."""
        return torch.arange(tokens.size(1), device=tokens.device)


def padded_positions(padding: int, tokens: Tensor) -> Tensor:
    """Places that pass over padding, as RoBERTa counts them, int64 [B, T].

    The first place is the row after that of padding's id, which all padding has.
    """
    mask = (tokens != padding).long()
    return mask.cumsum(1) * mask + padding


class Embeddings(TokenPositionEmbeddings):
    """And which sentence a token is in (Devlin et al. 2019, §3), where the spec tells it."""

    def __init__(self, spec: EncoderSpec, size: int, segments: int) -> None:
        super().__init__(spec, size)
        self.segment = nn.Embedding(segments, size)
        self.tells_segments = spec.tells_segments

    def summed(self, tokens: Tensor, segments: Tensor, positions: Tensor) -> Tensor:
        if not self.tells_segments:
            segments = torch.zeros_like(segments)
        summed: Tensor = self.token(tokens) + self.segment(segments)
        return summed if self.position is None else summed + self.position(positions)


class WidenedEmbeddings(Embeddings):
    """The same with a smaller vector for each token, which is widened where the spec says so."""

    def __init__(self, spec: EncoderSpec, segments: int) -> None:
        super().__init__(spec, spec.token_size, segments)
        self.widen: nn.Module = nn.Identity()
        if spec.projects_tokens:
            self.widen = nn.Linear(spec.token_size, spec.hidden_size)

    def forward(self, tokens: Tensor, segments: Tensor, positions: Tensor | None = None) -> Tensor:
        widened: Tensor = self.widen(super().forward(tokens, segments, positions))  # [..., D]
        return widened
