"""ModernBERT (Warner et al. 2024): pre-norm, rotary positions, gates, local attention."""

from torch import Tensor

from engine.config.model import EncoderSpec
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.encoder import Encoder
from engine.models.heads import Transform


class ModernPooler(Transform):
    """Dense layer with norm on [CLS]: [B, T, D] → [B, D]."""

    def forward(self, last: Tensor) -> Tensor:
        return super().forward(last[:, 0])


class ModernBert(Encoder):
    """Token embeddings and L layers, most with windowed attention."""

    embeddings_class = TokenPositionEmbeddings

    def make_pooler(self, spec: EncoderSpec) -> ModernPooler:
        return ModernPooler(spec)
