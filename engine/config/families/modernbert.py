"""ModernBERT (Warner et al. 2024): 8,192 tokens, local attention in most layers.

Its config.json has two forms: the published one has numbers for windows and rotary bases,
transformers 5 writes a list of layers and an object.
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from engine.config.families.family import NOT_CAUSAL, Family, mlm_names
from engine.config.model import (
    Activation,
    Count,
    EncoderSpec,
    LayerParts,
    Positions,
    Positive,
    Share,
    config_keys,
    override,
)
from engine.config.task import Head

Base = Annotated[float, Field(gt=1)]
FULL, SLIDING = "full_attention", "sliding_attention"
IRREGULAR = "irregular_layers"  # unsupported layer pattern
ROPE_TYPE = "rope_type"


class ModernBertSpec(EncoderSpec):
    """ModernBERT (Warner et al. 2024): 8,192 tokens, local attention in most layers."""

    family: ClassVar[str] = "modernbert"
    head_biases: ClassVar[bool] = False
    transforms_tokens: ClassVar[bool] = True
    max_positions: Positions = override(EncoderSpec, "max_positions", default=8192)
    dropout: Share = override(
        EncoderSpec, "dropout", ("embedding_dropout", "mlp_dropout"), default=0.0
    )
    attention_dropout: Share = override(
        EncoderSpec, "attention_dropout", ("attention_dropout",), default=0.0
    )
    activation: Activation = override(EncoderSpec, "activation", ("hidden_activation",))
    layer_norm_eps: Positive = override(EncoderSpec, "layer_norm_eps", ("norm_eps",), default=1e-5)
    head_dropout: Share | None = override(
        EncoderSpec,
        "head_dropout",
        default=0.0,
        description="Dropout probability before the output layer that fine-tuning adds.",
    )
    classifier_activation: Activation = Field(
        "gelu",
        title="Head activation",
        description="Non-linearity of the heads.",
        json_schema_extra=config_keys("classifier_activation"),
    )
    window: Positions = Field(
        128,
        title="Window",
        description="Tokens, half of them on each side, to which most layers attend.",
        json_schema_extra=config_keys("local_attention", level="elsewhere"),
    )
    global_every: Count = Field(
        3,
        title="Global attention every",
        description="Every N-th layer, starting with the first, attends to all tokens.",
        json_schema_extra=config_keys("global_attn_every_n_layers", level="elsewhere"),
    )
    rotary_base: Base = Field(
        10_000.0,
        title="Rotary base",
        description="Base of the angles of the layers with a window.",
        json_schema_extra=config_keys("local_rope_theta", level="elsewhere"),
    )
    global_rotary_base: Base = Field(
        160_000.0,
        title="Rotary base of global layers",
        description="Base of the angles of the layers that attend to all tokens.",
        json_schema_extra=config_keys("global_rope_theta", level="elsewhere"),
    )

    @property
    def parts(self) -> LayerParts:
        return LayerParts(
            norm="pre",
            positions="rotary",
            feed_forward="gated",
            biases=False,
            norm_biases=False,
            first_norm=False,
            window=self.window // 2,
            global_every=self.global_every,
            rotary_base=self.rotary_base,
            global_rotary_base=self.global_rotary_base,
        )

    @property
    def head_activation(self) -> Activation:
        return self.classifier_activation

    def dropout_before(self, head: Head) -> float:
        return self.head_dropout or 0.0


def to_published(config: dict[str, Any]) -> dict[str, Any]:
    """Convert a config of either form to the published form."""
    settings = dict(config)
    layers = config.get("layer_types")
    if isinstance(layers, list):
        step = next((n for n in range(1, len(layers)) if layers[n] == FULL), max(1, len(layers)))
        regular = [SLIDING if n % step else FULL for n in range(len(layers))]
        settings["global_attn_every_n_layers"] = step
        if layers != regular:
            settings[IRREGULAR] = True
    rope = config.get("rope_parameters")
    if isinstance(rope, dict):
        for kind, name in ((FULL, "global_rope_theta"), (SLIDING, "local_rope_theta")):
            parameters = rope.get(kind)
            if isinstance(parameters, dict):
                settings[name] = parameters.get("rope_theta", settings.get(name))
                if parameters.get("rope_type", "default") != "default":
                    settings[ROPE_TYPE] = parameters["rope_type"]
    if settings.get("local_rope_theta", 0) is None:  # as in transformers 4: the global base
        settings["local_rope_theta"] = settings.get("global_rope_theta")
    return settings


def entries(values: dict[str, Any]) -> dict[str, Any]:
    """Entries of the form of transformers 5, from a config of the published form."""
    step = values["global_attn_every_n_layers"]
    return {
        "layer_types": [SLIDING if n % step else FULL for n in range(values["num_hidden_layers"])],
        "rope_parameters": {
            FULL: {"rope_type": "default", "rope_theta": values["global_rope_theta"]},
            SLIDING: {"rope_type": "default", "rope_theta": values["local_rope_theta"]},
        },
    }


FAMILY = Family(
    title="ModernBERT",
    prefix="model",
    classes="ModernBert",
    spec=ModernBertSpec,
    network="modernbert.ModernBert",
    layer="model.layers.{}.",
    inner={
        "attention.query.": "attn.Wqkv.0.",
        "attention.key.": "attn.Wqkv.1.",
        "attention.value.": "attn.Wqkv.2.",
        "attention.output.": "attn.Wo.",
        "attention.norm.": "attn_norm.",
        "feed_forward.wide.": "mlp.Wi.0.",
        "feed_forward.gate.": "mlp.Wi.1.",
        "feed_forward.narrow.": "mlp.Wo.",
        "feed_forward.norm.": "mlp_norm.",
    },
    names={
        "encoder.embeddings.token.": "model.embeddings.tok_embeddings.",
        "encoder.embeddings.norm.": "model.embeddings.norm.",
        "encoder.norm.": "model.final_norm.",
        "encoder.pooler.dense.": "head.dense.",
        "encoder.pooler.norm.": "head.norm.",
        "task.turn.": "head.",
        **mlm_names("head.dense.", "head.norm.", "decoder.bias"),
    },
    decoder=("decoder.weight", ""),
    parts=("embeddings.", "layers.", "final_norm."),
    lowercase=False,
    fused={"attn.Wqkv.": 3, "mlp.Wi.": 2},
    answers="classifier.",
    pooler_of_head=True,
    normalize=to_published,
    extra_entries=entries,
    constants={"classifier_pooling": "cls"},
    others=NOT_CAUSAL
    | {
        "norm_bias": (None, False),
        "attention_bias": (None, False),
        "mlp_bias": (None, False),
        "classifier_bias": (None, False),
        "decoder_bias": (None, True),
        IRREGULAR: (None,),
        ROPE_TYPE: (None, "default"),
    },
)
