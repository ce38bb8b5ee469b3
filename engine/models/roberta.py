"""RoBERTa (Liu et al. 2019): BERT trained longer, on more text, with byte-level BPE.

Shapes: B sequences, T tokens in each, D hidden size.
"""

from torch import Tensor

from engine.config.families.roberta import RobertaSpec
from engine.config.model import EncoderSpec
from engine.config.tasks.text_classification import CLASSIFIER
from engine.models.embeddings import Embeddings, padded_positions
from engine.models.encoder import Encoder, Layer
from engine.models.fast.dropout import Dropout
from engine.models.heads import Pooler


class RobertaEmbeddings(Embeddings):
    """BERT's embeddings with positions that skip padding."""

    def __init__(self, spec: RobertaSpec) -> None:
        super().__init__(spec, spec.hidden_size, spec.segments)
        self.padding = spec.pad_token_id

    def positions(self, tokens: Tensor) -> Tensor:
        return padded_positions(self.padding, tokens)


class RobertaPooler(Pooler):
    """BERT's pooler with dropout before it, as in the published classification head."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__(spec)
        self.dropout = Dropout(spec.dropout_before(CLASSIFIER))

    def forward(self, last: Tensor) -> Tensor:
        return super().forward(self.dropout(last[:, :1]))


class Roberta(Encoder):
    """Sum of token, position and one segment embedding, then L layers."""

    def __init__(self, spec: RobertaSpec, pooler: bool = True) -> None:
        super().__init__(
            RobertaEmbeddings(spec),
            (Layer(spec, number) for number in range(spec.layers)),
            RobertaPooler(spec) if pooler else None,
        )
