"""GTE (Zhang et al. 2024): BERT's layers with rotary positions and gates."""

from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder


class Gte(Encoder):
    """Token embeddings, with segments if the spec has them, then L layers."""

    embeddings_class = Embeddings
