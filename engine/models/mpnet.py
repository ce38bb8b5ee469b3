"""MPNet (Song et al. 2020): BERT's layers with bucketed relative positions."""

from engine.config.model import EncoderSpec
from engine.config.tasks.text_classification import CLASSIFIER
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.encoder import Encoder
from engine.models.heads import Pooler


class Mpnet(Encoder):
    """Sum of token and position embeddings, then L layers with shared relative positions."""

    embeddings_class = TokenPositionEmbeddings

    def make_pooler(self, spec: EncoderSpec) -> Pooler:
        return Pooler(spec, dropout=spec.dropout_before(CLASSIFIER))
