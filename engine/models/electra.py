"""ELECTRA (Clark et al. 2020): BERT pre-trained to detect replaced tokens.

Tasks use the discriminator; the smaller generator predicts masked tokens. Both are this network,
with different heads.
"""

from engine.config.model import EncoderSpec
from engine.config.tasks.text_classification import CLASSIFIER
from engine.models.embeddings import WidenedEmbeddings
from engine.models.encoder import Encoder
from engine.models.heads import Pooler


class Electra(Encoder):
    """Sum of token, position and segment embeddings, then L layers."""

    embeddings_class = WidenedEmbeddings  # §3.2

    def make_pooler(self, spec: EncoderSpec) -> Pooler:
        return Pooler(spec, "gelu", spec.dropout_before(CLASSIFIER))
