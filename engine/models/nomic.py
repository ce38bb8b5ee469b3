"""NomicBERT (Nussbaum et al. 2024): BERT's layers with angles for positions and a gate."""

from engine.config.families.nomic import NomicBertSpec
from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder, Layer
from engine.models.heads import Pooler


class NomicBert(Encoder):
    """Words and segments summed, and L layers; linear layers have no biases, and norms have."""

    def __init__(self, spec: NomicBertSpec, pooler: bool = True) -> None:
        super().__init__(
            Embeddings(spec, spec.hidden_size, spec.segments),
            (Layer(spec, number) for number in range(spec.layers)),
            Pooler(spec) if pooler else None,
        )
