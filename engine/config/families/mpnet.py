"""MPNet (Song et al. 2020): positions counted from behind padding, and distances besides."""

from typing import ClassVar

from engine.config.families.family import (
    BERT_LAYER,
    LM_HEAD,
    NOT_CAUSAL,
    OWN_POOLER,
    Family,
    embedding_names,
)
from engine.config.model import Activation, EncoderSpec, LayerParts, Share, changed


class MpnetSpec(EncoderSpec):
    """MPNet (Song et al. 2020): positions counted from behind padding, and distances besides."""

    family: ClassVar[str] = "mpnet"
    padding: ClassVar[int] = 1  # its id, which no config changes
    head_dropout: Share | None = changed(EncoderSpec, "head_dropout", ())

    @property
    def parts(self) -> LayerParts:
        return LayerParts(relative="buckets")

    @property
    def position_rows(self) -> int:
        return self.max_positions + self.padding + 1

    @property
    def relative_buckets(self) -> int:
        return 32  # whatever a config says; the published code does not ask it

    @property
    def fixed_pad_id(self) -> int:
        return self.padding

    @property
    def head_activation(self) -> Activation:
        return "gelu"  # whatever the layers have


FAMILY = Family(
    title="MPNet",
    classes="MPNet",
    spec=MpnetSpec,
    network="mpnet.Mpnet",
    layer="mpnet.encoder.layer.{}.",
    inner=BERT_LAYER
    | {
        "attention.query.": "attention.attn.q.",
        "attention.key.": "attention.attn.k.",
        "attention.value.": "attention.attn.v.",
        "attention.output.": "attention.attn.o.",
        "attention.norm.": "attention.LayerNorm.",
    },
    names={
        **embedding_names("mpnet"),
        "encoder.relative.bias.": "mpnet.encoder.relative_attention_bias.",
        "encoder.pooler.dense.": "mpnet.pooler.dense.",
        **LM_HEAD,
    },
    decoder=("lm_head.decoder.weight", "lm_head.decoder.bias"),
    own_pooler=OWN_POOLER,
    positions_after_padding=True,
    others=NOT_CAUSAL | {"relative_attention_num_buckets": (None, 32), "pad_token_id": (None, 1)},
)
