"""ELECTRA (Clark et al. 2020): BERT that learned to tell replaced tokens from the real ones.

The discriminator is the network for tasks; the generator beside it, which is smaller, guesses
masked tokens. Both are the same here, with other heads.

Shapes: B sequences, T tokens in each, D hidden size, E size of token embeddings.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder, Layer
from engine.models.fast.dropout import Dropout
from engine.spec.model import ElectraSpec
from engine.spec.tasks.text_classification import CLASSIFIER


class ElectraEmbeddings(Embeddings):
    """BERT's, of width E, and widened to D where that is another width (§3.2)."""

    def __init__(self, spec: ElectraSpec) -> None:
        super().__init__(spec, spec.embedding_size, spec.segments)
        self.widen = (
            nn.Linear(spec.embedding_size, spec.hidden_size)
            if spec.projects_tokens
            else nn.Identity()
        )

    def forward(self, tokens: Tensor, segments: Tensor, positions: Tensor | None = None) -> Tensor:
        widened: Tensor = self.widen(super().forward(tokens, segments, positions))  # [..., D]
        return widened


class ElectraPooler(nn.Module):
    """The vector of [CLS] after one more layer with GELU: [B, T, D] → [B, D].

    It comes with a head for whole texts; ELECTRA was not pre-trained with one.
    """

    def __init__(self, spec: ElectraSpec) -> None:
        super().__init__()
        self.dropout = Dropout(spec.dropout_before(CLASSIFIER))
        self.dense = nn.Linear(spec.hidden_size, spec.hidden_size)

    def forward(self, last: Tensor) -> Tensor:
        return F.gelu(self.dense(self.dropout(last[:, 0])))


class Electra(Encoder):
    """Words, places and segments summed, and L layers."""

    def __init__(self, spec: ElectraSpec, pooler: bool = True) -> None:
        super().__init__(
            ElectraEmbeddings(spec),
            (Layer(spec, number) for number in range(spec.layers)),
            ElectraPooler(spec) if pooler else None,
        )
