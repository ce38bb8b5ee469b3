"""DistilBERT (Sanh et al. 2019): BERT's layers, half of them, without segments.

Shapes: B sequences, T tokens in each, D hidden size.
"""

from torch import Tensor, nn

from engine.config.families.distilbert import DistilBertSpec
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.encoder import Encoder, Layer


class FirstVector(nn.Module):
    """The vector of [CLS] after one more layer with ReLU: [B, T, D] → [B, D].

    It comes with a head for whole texts; DistilBERT was not pre-trained with one.
    """

    def __init__(self, spec: DistilBertSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.hidden_size, spec.hidden_size)

    def forward(self, last: Tensor) -> Tensor:
        pooled: Tensor = self.dense(last[:, 0]).relu()
        return pooled


class DistilBert(Encoder):
    """Words and places summed, and L layers; it takes segments and passes over them."""

    def __init__(self, spec: DistilBertSpec, pooler: bool = True) -> None:
        super().__init__(
            TokenPositionEmbeddings(spec, spec.hidden_size),
            (Layer(spec, number) for number in range(spec.layers)),
            FirstVector(spec) if pooler else None,
        )
