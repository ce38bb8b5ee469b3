"""DistilBERT (Sanh et al. 2019): half of BERT's layers, without segments."""

from engine.config.model import EncoderSpec
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.encoder import Encoder
from engine.models.heads import Pooler


class DistilBert(Encoder):
    """Sum of token and position embeddings, then L layers; segments are ignored."""

    embeddings_class = TokenPositionEmbeddings

    def make_pooler(self, spec: EncoderSpec) -> Pooler:
        return Pooler(spec, "relu")
