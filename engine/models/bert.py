"""BERT (Devlin et al. 2019)."""

from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder


class Bert(Encoder):
    """Sum of token, position and segment embeddings, then L layers (§3)."""

    embeddings_class = Embeddings
