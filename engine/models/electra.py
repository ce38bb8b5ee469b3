"""ELECTRA (Clark et al. 2020): BERT pre-trained to detect replaced tokens.

Tasks use the discriminator; the smaller generator predicts masked tokens. Both are this network,
with different heads.

Shapes: B sequences, T tokens in each, D hidden size.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from engine.config.families.electra import ElectraSpec
from engine.config.tasks.text_classification import CLASSIFIER
from engine.models.embeddings import WidenedEmbeddings
from engine.models.encoder import Encoder, Layer
from engine.models.fast.dropout import Dropout


class ElectraPooler(nn.Module):
    """Dense layer with GELU on [CLS]: [B, T, D] → [B, D].

    Part of the classification head; not pre-trained.
    """

    def __init__(self, spec: ElectraSpec) -> None:
        super().__init__()
        self.dropout = Dropout(spec.dropout_before(CLASSIFIER))
        self.dense = nn.Linear(spec.hidden_size, spec.hidden_size)

    def forward(self, last: Tensor) -> Tensor:
        return F.gelu(self.dense(self.dropout(last[:, 0])))


class Electra(Encoder):
    """Sum of token, position and segment embeddings, then L layers."""

    def __init__(self, spec: ElectraSpec, pooler: bool = True) -> None:
        super().__init__(
            WidenedEmbeddings(spec, spec.segments),  # §3.2
            (Layer(spec, number) for number in range(spec.layers)),
            ElectraPooler(spec) if pooler else None,
        )
