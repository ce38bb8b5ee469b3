"""Size and shape of a network: the settings that families share.

Each option has its title, help, range, default, and its name in config.json. A family
(`engine.config.families`) adds its own options and overrides shared ones.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import Field, model_validator
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from engine.config import Spec
from engine.config.fields import Level, get_extra, setting
from engine.config.problems import broken_rule
from engine.config.task import Head
from engine.phrases import phrase

Share = Annotated[float, Field(ge=0, lt=1)]
Width = Annotated[int, Field(ge=1, le=65_536)]
Positions = Annotated[int, Field(ge=2, le=1_000_000)]
FeedForwardSize = Annotated[int, Field(ge=1, le=262_144)]
Count = Annotated[int, Field(ge=1, le=1_000)]
Positive = Annotated[float, Field(gt=0)]
Activation = Literal["gelu", "gelu_new", "relu", "silu", "quick_gelu", "tanh", "mish"]


def config_keys(
    *names: str,
    level: Level = "advanced",
    required: bool = False,
    if_absent: int | None = None,
    fraction: bool = False,
) -> JsonDict:
    """A `setting` with its key in config.json, or several keys with the same value.

    `required`: every config has it; `if_absent`: the value that transformers assumes if it is
    missing, unless that is the field's default.
    """
    keys: JsonDict = {"published": list(names), "required": required, "absent": if_absent}
    return setting(level, fraction=fraction) | keys


def override(
    kind: type["EncoderSpec"],
    field: str,
    names: tuple[str, ...] | None = None,
    if_absent: int | None = None,
    **overrides: Any,
) -> Any:
    """Copy a field of `kind` with the names, default, title or help of a family."""
    info = kind.model_fields[field]
    extra = {**get_extra(info), "absent": if_absent}
    if names is not None:
        extra["published"] = list(names)
    original = {"default": info.default, "title": info.title, "description": info.description}
    return Field(**{**original, **overrides}, json_schema_extra=extra)


def published_names(info: FieldInfo) -> tuple[str, ...]:
    """The names of the field in config.json; may be empty."""
    return tuple(cast(list[str], get_extra(info).get("published", [])))


def is_required(info: FieldInfo) -> bool:
    """True if every config.json has the field."""
    return bool(get_extra(info).get("required", False))


def value_if_absent(info: FieldInfo) -> int | None:
    """The value that transformers assumes if config.json lacks the field; None: our default."""
    return cast(int | None, get_extra(info).get("absent"))


@dataclass(frozen=True)
class LayerParts:
    """Variants of the layers of a family, implemented in `engine.models`."""

    # after the residual sum, as in the paper, or before the sublayer
    norm: Literal["post", "pre"] = "post"
    # added to the tokens, or as rotations
    positions: Literal["learned", "rotary", "none"] = "learned"
    # relative-position terms of attention scores
    relative: Literal["none", "buckets", "disentangled"] = "none"
    feed_forward: Literal["plain", "gated"] = "plain"
    biases: bool = True  # of linear layers
    gate_biases: bool = True  # of a gate and the layer that it multiplies, if there are biases
    norm_biases: bool = True
    first_norm: bool = True  # the first layer normalises the inputs of attention
    window: int | None = None  # tokens of local attention on each side; None: global
    global_every: int = 1  # every n-th layer, from the first on, has global attention
    rotary_base: float = 10_000.0  # of local layers, or of all
    global_rotary_base: float = 10_000.0  # of global layers

    @property
    def wide_biases(self) -> bool:
        """True if the feed-forward layers before the activation have biases."""
        return self.biases and self.gate_biases

    def window_at(self, index: int) -> int | None:
        """The attention window of a layer, counted from 0."""
        return None if index % self.global_every == 0 else self.window

    def rotary_base_at(self, index: int) -> float:
        return self.global_rotary_base if self.window_at(index) is None else self.rotary_base


class EncoderSpec(Spec):
    """Settings that all families share: L layers of width D (H in papers) with A heads."""

    family: ClassVar[str]
    shares_layers: ClassVar[bool] = False
    head_biases: ClassVar[bool] = True  # of the hidden layers of heads
    # token heads have an additional hidden layer, as the masked-word head has
    transforms_tokens: ClassVar[bool] = False

    vocab_size: Annotated[int, Field(ge=6, le=10_000_000)] = Field(
        30522,
        title="Vocabulary size",
        description="Number of different tokens.",
        json_schema_extra=config_keys("vocab_size", level="elsewhere", required=True),
    )
    hidden_size: Width = Field(
        768,
        title="Hidden size",
        description="Size of the vector of each token.",
        json_schema_extra=config_keys("hidden_size", required=True),
    )
    layers: Count = Field(
        12,
        title="Layers",
        description="Number of Transformer layers.",
        json_schema_extra=config_keys("num_hidden_layers", required=True),
    )
    heads: Count = Field(
        12,
        title="Attention heads",
        description="Attention heads per layer; must divide the hidden size.",
        json_schema_extra=config_keys("num_attention_heads", required=True),
    )
    intermediate_size: FeedForwardSize = Field(
        3072,
        title="Intermediate size",
        description="Size of the feed-forward layer; four times the hidden size in the paper.",
        json_schema_extra=config_keys("intermediate_size", required=True),
    )
    max_positions: Positions = Field(
        512,
        title="Max. positions",
        description="Maximum number of tokens in an input.",
        json_schema_extra=config_keys("max_position_embeddings"),
    )
    dropout: Share = Field(
        0.1,
        title="Dropout",
        description="Dropout probability after each sub-layer during training.",
        json_schema_extra=config_keys("hidden_dropout_prob", fraction=True),
    )
    attention_dropout: Share = Field(
        0.1,
        title="Attention dropout",
        description="Dropout probability of the attention weights during training.",
        json_schema_extra=config_keys("attention_probs_dropout_prob", fraction=True),
    )
    activation: Activation = Field(
        "gelu",
        title="Activation",
        description="Non-linearity of the feed-forward layers; GELU in the paper.",
        json_schema_extra=config_keys("hidden_act"),
    )
    layer_norm_eps: Positive = Field(
        1e-12,
        title="LayerNorm epsilon",
        description="Added to the variance in each LayerNorm.",
        json_schema_extra=config_keys("layer_norm_eps"),
    )
    initializer_range: Positive = Field(
        0.02,
        title="Initializer range",
        description="Standard deviation of the initial weights.",
        json_schema_extra=config_keys("initializer_range"),
    )
    head_dropout: Share | None = Field(
        None,
        title="Head dropout",
        description=(
            "Dropout probability before the output layer that fine-tuning adds; empty = as in the "
            "rest of the model."
        ),
        json_schema_extra=config_keys("classifier_dropout", fraction=True),
    )

    one_segment: bool = Field(
        False,
        title="One segment",
        description="Both texts of a pair have the first segment, as the tokenizer says.",
        json_schema_extra=setting("elsewhere"),
    )

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.hidden_size % self.heads:
            raise broken_rule(
                phrase(
                    "the hidden size {hidden_size} is not divisible by {heads} attention heads",
                    hidden_size=self.hidden_size,
                    heads=self.heads,
                ),
                "heads",
                "hidden_size",
            )
        return self

    @property
    def parts(self) -> LayerParts:
        """The variants of its layers."""
        return LayerParts()

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.heads

    @property
    def is_causal(self) -> bool:
        """True if no token attends to a later one."""
        return False

    @property
    def position_rows(self) -> int:
        """Rows of the position embedding."""
        return self.max_positions

    @property
    def segment_rows(self) -> int:
        """Rows of the segment embedding; 0 for none."""
        return 0

    @property
    def uses_segments(self) -> bool:
        """True if inputs distinguish the two texts."""
        return self.segment_rows > 1 and not self.one_segment

    @property
    def relative_buckets(self) -> int:
        """Number of relative-position buckets; 0 for none."""
        return 0

    @property
    def token_size(self) -> int:
        """Size of the token embedding, before it is projected to the hidden size."""
        return self.hidden_size

    @property
    def projects_tokens(self) -> bool:
        """True if embeddings are projected from `token_size` to the hidden size."""
        return self.token_size != self.hidden_size

    @property
    def fixed_pad_id(self) -> int | None:
        """Required padding id of the vocabulary; None: any."""
        return None

    @property
    def stored_layers(self) -> int:
        """Number of layers with their own weights."""
        return self.layers

    def layer_indices(self, stored: int) -> range:
        """The layers, counted from 1, that use a stored layer."""
        return range(stored + 1, stored + 2)

    @property
    def head_activation(self) -> Activation:
        """Activation of the masked-word head."""
        return self.activation

    def dropout_before(self, head: Head) -> float:
        """Dropout before the fine-tuned layer; run_squad.py has none for answers."""
        if head.finds_spans:
            return 0.0
        return self.dropout if self.head_dropout is None else self.head_dropout


class WithSegments(EncoderSpec):
    """A network with segment embeddings."""

    segments: Count = Field(
        2,
        title="Segments",
        description="Number of segment (token type) embeddings: first and second sentence.",
        json_schema_extra=config_keys("type_vocab_size", level="elsewhere"),
    )

    @property
    def segment_rows(self) -> int:
        return self.segments


class WithTokenSize(EncoderSpec):
    """A network with a separate size of token embeddings."""

    embedding_size: Width = Field(
        128,
        title="Embedding size",
        description="Size of the token embeddings before they are projected to the hidden size.",
        json_schema_extra=config_keys("embedding_size"),
    )

    @property
    def token_size(self) -> int:
        return self.embedding_size
