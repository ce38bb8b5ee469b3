"""NomicBERT (Nussbaum et al. 2024): BERT with rotary positions and a gate, without biases.

Its config.json has two forms: as published, with GPT-2's names, and as in transformers 5, with
BERT's.
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from engine.config.families.family import NOT_CAUSAL, Family, mlm_names
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
HEAD_SIZE = "head_dim"
FIRST_FORM = {  # published → current
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
    "resid_pdrop": "hidden_dropout_prob",
    "attn_pdrop": "attention_probs_dropout_prob",
    "layer_norm_epsilon": "layer_norm_eps",
}
GATED_SILU = "swiglu"  # its name in the first form


class NomicBertSpec(WithSegments):
    """NomicBERT (Nussbaum et al. 2024): BERT with rotary positions and a gate."""

    family: ClassVar[str] = "nomic_bert"
    max_positions: Positions = override(EncoderSpec, "max_positions", default=2048)
    dropout: Share = override(EncoderSpec, "dropout", default=0.0)
    attention_dropout: Share = override(EncoderSpec, "attention_dropout", default=0.0)
    activation: Activation = override(
        EncoderSpec,
        "activation",
        default="silu",
        description="Non-linearity of the feed-forward layers, which have a gate.",
    )
    rotary_base: Annotated[float, Field(gt=1)] = Field(
        1_000.0,
        title="Rotary base",
        description="Base of the angles that encode positions.",
        json_schema_extra=config_keys("rotary_emb_base", level="elsewhere"),
    )

    @property
    def parts(self) -> LayerParts:
        return LayerParts(
            positions="rotary",
            feed_forward="gated",
            biases=False,
            norm_biases=True,
            global_rotary_base=self.rotary_base,
        )


def to_current(config: dict[str, Any]) -> dict[str, Any]:
    """Convert a config to the current form, but with the old name of the rotary base."""
    renamed = {FIRST_FORM.get(name, name): value for name, value in config.items()}
    if "activation_function" in config:
        activation = config["activation_function"]
        renamed["hidden_act"] = "silu" if activation == GATED_SILU else f"{activation}, not gated"
    if config.get("rotary_scaling_factor") is not None:  # rotary scaling beyond this length
        renamed["max_position_embeddings"] = config.get("max_trained_positions", 2048)
    rope = config.get("rope_parameters")
    if isinstance(rope, dict):
        renamed["rotary_emb_base"] = rope.get("rope_theta", 1_000.0)
        renamed[ROPE_TYPE] = rope.get("rope_type", "default")
    if not _has_own_head_size(renamed):
        renamed.pop(HEAD_SIZE, None)
    return renamed


def _has_own_head_size(config: dict[str, Any]) -> bool:
    """True if the head size is not derived from the hidden size."""
    values = (config.get(name) for name in ("hidden_size", "num_attention_heads", HEAD_SIZE))
    sizes = [size for size in values if isinstance(size, int) and size > 0]
    if len(sizes) < 3:
        return False
    width, heads, head_size = sizes
    return width % heads == 0 and head_size != width // heads


def entries(values: dict[str, Any]) -> dict[str, Any]:
    """Further entries for transformers."""
    return {
        "rope_parameters": {"rope_type": "default", "rope_theta": values["rotary_emb_base"]},
        HEAD_SIZE: values["hidden_size"] // values["num_attention_heads"],
    }


FAMILY = Family(
    title="NomicBERT",
    classes="NomicBert",
    spec=NomicBertSpec,
    network="nomic.NomicBert",
    layer="nomic_bert.encoder.layers.{}.",
    inner={
        "attention.query.": "attn.Wqkv.0.",
        "attention.key.": "attn.Wqkv.1.",
        "attention.value.": "attn.Wqkv.2.",
        "attention.output.": "attn.out_proj.",
        "attention.norm.": "norm1.",
        "feed_forward.wide.": "mlp.fc12.",
        "feed_forward.gate.": "mlp.fc11.",
        "feed_forward.narrow.": "mlp.fc2.",
        "feed_forward.norm.": "norm2.",
    },
    names={
        "encoder.embeddings.token.": "nomic_bert.embeddings.word_embeddings.",
        "encoder.embeddings.segment.": "nomic_bert.embeddings.token_type_embeddings.",
        "encoder.embeddings.norm.": "nomic_bert.emb_ln.",
        "encoder.pooler.dense.": "nomic_bert.pooler.dense.",
        **mlm_names(
            "cls.predictions.transform.dense.",
            "cls.predictions.transform.layer_norm.",
            "cls.predictions.bias",
        ),
    },
    decoder=("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
    parts=("embeddings.", "emb_ln.", "encoder.", "pooler."),
    fused={"attn.Wqkv.": 3},
    aliases={"bert.": "nomic_bert."},
    normalize=to_current,
    extra_entries=entries,
    others=NOT_CAUSAL
    | {
        "prenorm": (None, False),
        "parallel_block": (None, False),
        "use_rms_norm": (None, False),
        "causal": (None, False),
        "qkv_proj_bias": (None, False),
        "mlp_fc1_bias": (None, False),
        "mlp_fc2_bias": (None, False),
        "num_experts": (None, 0),
        "moe_every_n_layers": (None, 0),
        "rotary_emb_fraction": (None, 1),
        "rotary_emb_interleaved": (None, False),
        "rotary_emb_scale_base": (None,),
        HEAD_SIZE: (None,),
        ROPE_TYPE: (None, "default"),
    },
)
