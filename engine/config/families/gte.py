"""GTE (Zhang et al. 2024): BERT with rotary positions and a gate, for 8,192 tokens."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from engine.config.families.family import Family, mlm_names
from engine.config.model import (
    Activation,
    EncoderSpec,
    LayerParts,
    Positions,
    Share,
    WithSegments,
    config_keys,
    override,
)

ROPE_TYPE = "rope_type"


class GteSpec(WithSegments):
    """GTE (Zhang et al. 2024): BERT with rotary positions and a gate."""

    family: ClassVar[str] = "gte"
    max_positions: Positions = override(EncoderSpec, "max_positions", default=8192)
    attention_dropout: Share = override(EncoderSpec, "attention_dropout", default=0.0)
    segments: Annotated[int, Field(ge=0, le=1_000)] = override(
        WithSegments,
        "segments",
        default=1,
        description="Number of segment (token type) embeddings; 0 = none.",
    )
    rotary_base: Annotated[float, Field(gt=1)] = Field(
        160_000.0,
        title="Rotary base",
        description="Base of the angles that encode positions.",
        json_schema_extra=config_keys("rope_theta", level="elsewhere"),
    )

    @property
    def parts(self) -> LayerParts:
        return LayerParts(
            positions="rotary",
            feed_forward="gated",
            gate_biases=False,
            global_rotary_base=self.rotary_base,
        )

    @property
    def head_activation(self) -> Activation:
        return "gelu"


def flatten_rope(config: dict[str, Any]) -> dict[str, Any]:
    """Take the entries of the rotary positions out of their object."""
    rope = config.get("rope_parameters")
    return config | ({"rope_theta": 160_000.0} | rope if isinstance(rope, dict) else {})


def entries(values: dict[str, Any]) -> dict[str, Any]:
    """Further entries for transformers."""
    return {"rope_parameters": {ROPE_TYPE: "default", "rope_theta": values["rope_theta"]}}


FAMILY = Family(
    title="GTE",
    classes="Gte",
    spec=GteSpec,
    network="gte.Gte",
    layer="gte.encoder.layer.{}.",
    inner={
        "attention.query.": "attention.qkv_proj.0.",
        "attention.key.": "attention.qkv_proj.1.",
        "attention.value.": "attention.qkv_proj.2.",
        "attention.output.": "attention.o_proj.",
        "attention.norm.": "attn_ln.",
        "feed_forward.wide.": "mlp.up_gate_proj.1.",
        "feed_forward.gate.": "mlp.up_gate_proj.0.",
        "feed_forward.narrow.": "mlp.down_proj.",
        "feed_forward.norm.": "mlp_ln.",
    },
    names={
        "encoder.embeddings.token.": "gte.embeddings.word_embeddings.",
        "encoder.embeddings.segment.": "gte.embeddings.token_type_embeddings.",
        "encoder.embeddings.norm.": "gte.embeddings.LayerNorm.",
        "encoder.pooler.dense.": "gte.pooler.dense.",
        **mlm_names("lm_head.dense.", "lm_head.norm.", "lm_head.decoder.bias"),
    },
    decoder=("lm_head.decoder.weight", ""),
    fused={"attention.qkv_proj.": 3, "mlp.up_gate_proj.": 2},
    aliases={"new.": "gte."},
    normalize=flatten_rope,
    extra_entries=entries,
    others={ROPE_TYPE: (None, "default"), "rope_scaling": (None,)},
)
