"""NomicBERT (Nussbaum et al. 2024): BERT's layers with rotary positions and gates."""

from engine.config.families.nomic import NomicBertSpec
from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder, Layer
from engine.models.heads import Pooler


class NomicBert(Encoder):
    """Sum of token and segment embeddings, then L layers without biases in linear layers."""

    def __init__(self, spec: NomicBertSpec, pooler: bool = True) -> None:
        super().__init__(
            Embeddings(spec, spec.hidden_size, spec.segments),
            (Layer(spec, number) for number in range(spec.layers)),
            Pooler(spec) if pooler else None,
        )
