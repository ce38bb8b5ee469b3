"""NomicBERT (Nussbaum et al. 2024): BERT's layers with rotary positions and gates."""

from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder


class NomicBert(Encoder):
    """Sum of token and segment embeddings, then L layers without biases in linear layers."""

    embeddings_class = Embeddings
