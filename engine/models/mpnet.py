"""MPNet (Song et al. 2020): BERT's layers with bucketed relative positions.

Shapes: B sequences, T tokens in each.
"""

from torch import Tensor

from engine.config.families.mpnet import MpnetSpec
from engine.models.embeddings import TokenPositionEmbeddings, padded_positions
from engine.models.encoder import Encoder, Layer
from engine.models.relative import relative_positions
from engine.models.roberta import RobertaPooler


class MpnetEmbeddings(TokenPositionEmbeddings):
    """Token embeddings, and positions that skip padding."""

    def __init__(self, spec: MpnetSpec) -> None:
        super().__init__(spec, spec.hidden_size)
        self.padding = spec.padding

    def positions(self, tokens: Tensor) -> Tensor:
        return padded_positions(self.padding, tokens)


class Mpnet(Encoder):
    """Sum of token and position embeddings, then L layers with shared relative positions."""

    def __init__(self, spec: MpnetSpec, pooler: bool = True) -> None:
        super().__init__(
            MpnetEmbeddings(spec),
            (Layer(spec, number) for number in range(spec.layers)),
            RobertaPooler(spec) if pooler else None,
            relative=relative_positions(spec),
        )
