"""ModernBERT (Warner et al. 2024): pre-norm, rotary positions, gates, local attention."""

from torch import Tensor, nn

from engine.config.families.modernbert import ModernBertSpec
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.encoder import Encoder, Layer
from engine.models.heads import Transform


class ModernPooler(Transform):
    """Dense layer with norm on [CLS]: [B, T, D] → [B, D]."""

    def forward(self, last: Tensor) -> Tensor:
        return super().forward(last[:, 0])


class ModernBert(Encoder):
    """Token embeddings and L layers, most with windowed attention."""

    def __init__(self, spec: ModernBertSpec, pooler: bool = True) -> None:
        super().__init__(
            TokenPositionEmbeddings(spec, spec.hidden_size),
            (Layer(spec, number) for number in range(spec.layers)),
            ModernPooler(spec) if pooler else None,
            norm=nn.LayerNorm(spec.hidden_size, eps=spec.layer_norm_eps, bias=False),
        )
