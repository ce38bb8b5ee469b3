"""MPNet (Song et al. 2020): positions after the padding id, and relative positions."""

from typing import ClassVar

from engine.config.families.family import (
    BERT_LAYER,
    LM_HEAD,
    NOT_CAUSAL,
    OWN_POOLER,
    Family,
    embedding_names,
)
from engine.config.model import Activation, EncoderSpec, LayerParts, Share, override


class MpnetSpec(EncoderSpec):
    """MPNet (Song et al. 2020): positions after the padding id, and relative positions."""

    family: ClassVar[str] = "mpnet"
    head_activation: ClassVar[Activation] = "gelu"  # independent of the layers
    parts: ClassVar[LayerParts] = LayerParts(relative="buckets")
    relative_buckets: ClassVar[int] = 32  # fixed in the published code, which ignores the config
    fixed_pad_id: ClassVar[int] = 1
    head_dropout: Share | None = override(EncoderSpec, "head_dropout", ())

    @property
    def position_rows(self) -> int:
        return self.max_positions + self.fixed_pad_id + 1


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
