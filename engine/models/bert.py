"""BERT (Devlin et al. 2019)."""

from engine.config.families.bert import BertSpec
from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder, Layer
from engine.models.heads import Pooler


class Bert(Encoder):
    """Sum of token, position and segment embeddings, then L layers (§3)."""

    def __init__(self, spec: BertSpec, pooler: bool = True) -> None:
        super().__init__(
            Embeddings(spec, spec.hidden_size, spec.segments),
            (Layer(spec, number) for number in range(spec.layers)),
            Pooler(spec) if pooler else None,
            spec.causal,
        )
