"""BERT (Devlin et al. 2019), readable beside the paper."""

from engine.config.families.bert import BertSpec
from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder, Layer
from engine.models.heads import Pooler


class Bert(Encoder):
    """Words, places and segments summed, and L layers, each with weights of its own (§3)."""

    def __init__(self, spec: BertSpec, pooler: bool = True) -> None:
        super().__init__(
            Embeddings(spec, spec.hidden_size, spec.segments),
            (Layer(spec, number) for number in range(spec.layers)),
            Pooler(spec) if pooler else None,
            spec.causal,
        )
