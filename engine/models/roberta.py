"""RoBERTa (Liu et al. 2019): BERT trained longer, on more text, with byte-level BPE."""

from engine.config.model import EncoderSpec
from engine.config.tasks.text_classification import CLASSIFIER
from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder
from engine.models.heads import Pooler


class Roberta(Encoder):
    """Sum of token, position and one segment embedding, then L layers."""

    embeddings_class = Embeddings

    def make_pooler(self, spec: EncoderSpec) -> Pooler:
        return Pooler(spec, dropout=spec.dropout_before(CLASSIFIER))
