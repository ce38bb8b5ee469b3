"""DistilBERT (Sanh et al. 2019): half of BERT's layers, without segments.

Shapes: B sequences, T tokens in each, D hidden size.
"""

from torch import Tensor, nn

from engine.config.families.distilbert import DistilBertSpec
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.encoder import Encoder, Layer


class FirstVector(nn.Module):
    """Dense layer with ReLU on [CLS]: [B, T, D] → [B, D].

    Part of the classification head; not pre-trained.
    """

    def __init__(self, spec: DistilBertSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.hidden_size, spec.hidden_size)

    def forward(self, last: Tensor) -> Tensor:
        pooled: Tensor = self.dense(last[:, 0]).relu()
        return pooled


class DistilBert(Encoder):
    """Sum of token and position embeddings, then L layers; segments are ignored."""

    def __init__(self, spec: DistilBertSpec, pooler: bool = True) -> None:
        super().__init__(
            TokenPositionEmbeddings(spec, spec.hidden_size),
            (Layer(spec, number) for number in range(spec.layers)),
            FirstVector(spec) if pooler else None,
        )
