"""BERT (Devlin et al. 2019)."""

from typing import ClassVar

from pydantic import Field

from engine.config.families.family import BERT_HEAD, BERT_LAYER, Family, embedding_names
from engine.config.fields import setting
from engine.config.model import WithSegments


class BertSpec(WithSegments):
    """BERT as in Devlin et al. 2019, §3."""

    family: ClassVar[str] = "bert"
    causal: bool = Field(
        False,
        title="Causal (left to right)",
        description=(
            "Each token attends only to itself and the tokens before it, as in the left-to-right "
            "model that the paper compares BERT with (§5.1)."
        ),
        json_schema_extra=setting("elsewhere"),
    )

    @property
    def is_causal(self) -> bool:
        return self.causal


FAMILY = Family(
    title="BERT",
    classes="Bert",
    spec=BertSpec,
    network="bert.Bert",
    layer="bert.encoder.layer.{}.",
    inner=BERT_LAYER,
    names={
        **embedding_names("bert"),
        "encoder.pooler.dense.": "bert.pooler.dense.",
        **BERT_HEAD,
        "nsp.dense.": "cls.seq_relationship.",
    },
    decoder=("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
)


def bert(layers: int, width: int, vocabulary: int = 30522) -> BertSpec:
    """Build a spec with the published proportions: head size 64, feed-forward size 4 × width."""
    return BertSpec(
        layers=layers,
        hidden_size=width,
        heads=width // 64,
        intermediate_size=4 * width,
        vocab_size=vocabulary,
    )


PRESETS: dict[str, BertSpec] = {
    "tiny": bert(2, 128),
    "mini": bert(4, 256),
    "small": bert(4, 512),
    "medium": bert(8, 512),
    "base": bert(12, 768),
    "large": bert(24, 1024),
}
