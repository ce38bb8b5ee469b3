"""DeBERTa v2 and v3 (He et al. 2021): disentangled attention to content and positions."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.families.family import BERT_HEAD, BERT_LAYER, NOT_CAUSAL, Family, embedding_names
from engine.config.model import (
    Activation,
    EncoderSpec,
    LayerParts,
    Positive,
    Share,
    WithSegments,
    config_keys,
    override,
)
from engine.config.task import Head
from engine.phrases import phrase

Distance = Annotated[int, Field(ge=-1, le=1_000_000)]


class DebertaSpec(WithSegments):
    """DeBERTa v2 and v3 (He et al. 2021): disentangled attention to content and positions."""

    family: ClassVar[str] = "deberta-v2"
    layer_norm_eps: Positive = override(EncoderSpec, "layer_norm_eps", default=1e-7)
    head_dropout: Share | None = override(EncoderSpec, "head_dropout", ("cls_dropout",))
    segments: Annotated[int, Field(ge=0, le=1_000)] = override(
        WithSegments,
        "segments",
        default=0,
        description="Number of segment (token type) embeddings; 0 = none.",
    )
    absolute_positions: bool = Field(
        True,
        title="Absolute positions",
        description="Position embeddings are added to the token embeddings, as in BERT.",
        json_schema_extra=config_keys("position_biased_input", level="elsewhere"),
    )
    position_buckets: Distance = Field(
        -1,
        title="Position buckets",
        description="Number of relative positions on each side; -1 = the maximum distance.",
        json_schema_extra=config_keys("position_buckets", level="elsewhere"),
    )
    max_relative_positions: Distance = Field(
        -1,
        title="Max. relative positions",
        description="Largest distance between two tokens that counts; -1 = the max. positions.",
        json_schema_extra=config_keys("max_relative_positions", level="elsewhere"),
    )
    convolution: Annotated[int, Field(ge=0, le=99)] = Field(
        0,
        title="Convolution size",
        description="Tokens that a convolution parallel to the first layer reads; 0 = none.",
        json_schema_extra=config_keys("conv_kernel_size", level="elsewhere"),
    )
    convolution_activation: Activation = Field(
        "tanh",
        title="Convolution activation",
        description="Non-linearity of the convolution.",
        json_schema_extra=config_keys("conv_act", level="elsewhere"),
    )
    pooler_dropout: Share = Field(
        0.0,
        title="Pooler dropout",
        description="Dropout probability before the pooler.",
        json_schema_extra=config_keys("pooler_dropout"),
    )
    pooler_activation: Activation = Field(
        "gelu",
        title="Pooler activation",
        description="Non-linearity of the pooler.",
        json_schema_extra=config_keys("pooler_hidden_act"),
    )

    @property
    def parts(self) -> LayerParts:
        positions: Literal["learned", "none"] = "learned" if self.absolute_positions else "none"
        return LayerParts(positions=positions, relative="disentangled")

    @property
    def max_distance(self) -> int:
        """The largest distinguished distance between tokens."""
        return (
            self.max_positions if self.max_relative_positions < 1 else self.max_relative_positions
        )

    @property
    def relative_buckets(self) -> int:
        return 2 * (self.position_buckets if self.position_buckets > 0 else self.max_distance)

    def dropout_before(self, head: Head) -> float:
        if head.reads_tokens and not head.finds_spans:
            return self.dropout
        return super().dropout_before(head)


FAMILY = Family(
    title="DeBERTa v2 and v3",
    prefix="deberta",
    classes="DebertaV2",
    spec=DebertaSpec,
    network="deberta.Deberta",
    layer="deberta.encoder.layer.{}.",
    inner=BERT_LAYER
    | {
        "attention.query.": "attention.self.query_proj.",
        "attention.key.": "attention.self.key_proj.",
        "attention.value.": "attention.self.value_proj.",
    },
    names={
        **embedding_names("deberta"),
        "encoder.layers.0.convolution.conv.": "deberta.encoder.conv.conv.",
        "encoder.layers.0.convolution.norm.": "deberta.encoder.conv.LayerNorm.",
        "encoder.relative.table.": "deberta.encoder.rel_embeddings.",
        "encoder.relative.norm.": "deberta.encoder.LayerNorm.",
        "encoder.pooler.dense.": "pooler.dense.",
        **BERT_HEAD,
    },
    decoder=("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
    parts=("embeddings.", "encoder."),
    lowercase=False,
    aliases={
        "lm_predictions.lm_head.dense.": BERT_HEAD["mlm.dense."],
        "lm_predictions.lm_head.LayerNorm.": BERT_HEAD["mlm.norm."],
        "lm_predictions.lm_head.bias": BERT_HEAD["mlm.bias"],
    },
    detection_head="mask_predictions.",
    constants={
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
    },
    others=NOT_CAUSAL
    | {
        "relative_attention": (True,),
        "pos_att_type": (["p2c", "c2p"], ["c2p", "p2c"], "p2c|c2p", "c2p|p2c"),
        "share_att_key": (True,),
        "norm_rel_ebd": ("layer_norm",),
        "conv_groups": (None, 1),
    },
    remarks={
        "mask_predictions.": phrase(
            "This model was trained to detect replaced tokens, as DeBERTa v3 is; it has no trained "
            "head for masked tokens."
        ),
        "deberta.embeddings.position_embeddings.": phrase(
            "The absolute positions in the file are ignored: only pre-training used them."
        ),
    },
)
