"""The size and shape of a network, of each family."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from engine.phrases import phrase
from engine.spec import Spec
from engine.spec.fields import setting
from engine.spec.problems import broken
from engine.spec.task import Head

Share = Annotated[float, Field(ge=0, lt=1)]
Activation = Literal["gelu", "gelu_new", "relu", "silu", "quick_gelu", "tanh", "mish"]


@dataclass(frozen=True)
class LayerParts:
    """What the layers of a family are made of; the parts themselves stand in `engine.models`."""

    norm: Literal["post", "pre"] = "post"  # after the sum, as in the paper, or of what is read
    positions: Literal["learned", "rotary", "none"] = "learned"  # added to the tokens, or as angles
    relative: Literal["none", "buckets", "disentangled"] = "none"  # what distances add to scores
    feed_forward: Literal["plain", "gated"] = "plain"
    biases: bool = True  # of linear layers and norms
    first_norm: bool = True  # whether the lowest layer normalises what attention reads
    window: int | None = None  # tokens on each side to which a token attends; None: all
    all_every: int = 1  # every so many layers, from the first on, attend to all even so
    rotary_base: float = 10_000.0  # of the layers with a window, or of all
    rotary_base_all: float = 10_000.0  # of those that attend to all

    def window_at(self, number: int) -> int | None:
        """The window of a layer, counted from 0."""
        return None if number % self.all_every == 0 else self.window

    def rotary_base_at(self, number: int) -> float:
        return self.rotary_base_all if self.window_at(number) is None else self.rotary_base


class EncoderSpec(Spec):
    """What the networks of the family share: L layers of width D (H in papers) with A heads."""

    family: ClassVar[str]
    shares_layers: ClassVar[bool] = False

    vocab_size: int = Field(
        30522,
        ge=6,
        le=10_000_000,
        title="Vocabulary size",
        description="Number of different tokens.",
        json_schema_extra=setting("elsewhere"),
    )
    hidden_size: int = Field(
        768,
        ge=1,
        le=65_536,
        title="Hidden size",
        description="Size of the vector of each token.",
    )
    layers: int = Field(
        12,
        ge=1,
        le=1_000,
        title="Layers",
        description="Number of Transformer layers.",
    )
    heads: int = Field(
        12,
        ge=1,
        le=1_000,
        title="Attention heads",
        description="Attention heads per layer; must divide the hidden size.",
    )
    intermediate_size: int = Field(
        3072,
        ge=1,
        le=262_144,
        title="Intermediate size",
        description=("Size of the feed-forward layer; four times the hidden size in the paper."),
    )
    max_positions: int = Field(
        512,
        ge=2,
        le=1_000_000,
        title="Max. positions",
        description="Maximum number of tokens in an input.",
    )
    dropout: Share = Field(
        0.1,
        title="Dropout",
        description="Dropout probability after each sub-layer during training.",
    )
    attention_dropout: Share = Field(
        0.1,
        title="Attention dropout",
        description="Dropout probability of the attention weights during training.",
    )
    activation: Activation = Field(
        "gelu",
        title="Activation",
        description="Non-linearity of the feed-forward layers; GELU in the paper.",
    )
    layer_norm_eps: float = Field(
        1e-12,
        gt=0,
        title="LayerNorm epsilon",
        description="Added to the variance in each LayerNorm.",
    )
    initializer_range: float = Field(
        0.02,
        gt=0,
        title="Initializer range",
        description="Standard deviation of the initial weights.",
    )
    head_dropout: Share | None = Field(
        None,
        title="Head dropout",
        description=(
            "Dropout probability before the output layer that fine-tuning adds; empty = as in the "
            "rest of the model."
        ),
    )

    one_segment: bool = Field(
        False,
        title="One segment",
        description="Both texts of a pair have the first segment, as the tokenizer says.",
        json_schema_extra=setting("elsewhere"),
    )

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.hidden_size % self.heads:
            raise broken(
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
        """What its layers are made of."""
        return LayerParts()

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.heads

    @property
    def is_causal(self) -> bool:
        """Whether no token attends to a later one."""
        return False

    @property
    def position_rows(self) -> int:
        """Rows of the position embedding."""
        return self.max_positions

    @property
    def segment_rows(self) -> int:
        """Rows of the segment embedding; 0 where there is none."""
        return 0

    @property
    def tells_segments(self) -> bool:
        """Whether the network is told which of two texts a token is of."""
        return self.segment_rows > 1 and not self.one_segment

    @property
    def head_biases(self) -> bool:
        """Whether the layers of heads before the last one have biases."""
        return True

    @property
    def turns_tokens(self) -> bool:
        """Whether heads for tokens have one more layer, as those for masked words have."""
        return False

    @property
    def relative_buckets(self) -> int:
        """Into how many buckets distances between tokens are put; 0 where they are not."""
        return 0

    @property
    def token_size(self) -> int:
        """Length of the embedding of a token, before it is projected to the hidden size."""
        return self.hidden_size

    @property
    def projects_tokens(self) -> bool:
        """Whether embeddings are projected from `token_size` to the hidden size."""
        return self.token_size != self.hidden_size

    @property
    def fixed_pad_id(self) -> int | None:
        """The id that padding must have in the vocabulary; None: any."""
        return None

    @property
    def stored_layers(self) -> int:
        """How many layers have weights of their own."""
        return self.layers

    def heights_of(self, stored: int) -> range:
        """The heights, counted from 1, at which a layer with weights of its own works."""
        return range(stored + 1, stored + 2)

    @property
    def head_activation(self) -> Activation:
        """Non-linearity of the head for masked words."""
        return self.activation

    def dropout_before(self, head: Head) -> float:
        """Dropout before the layer that fine-tuning adds; run_squad.py has none for answers."""
        if head.finds_spans:
            return 0.0
        return self.dropout if self.head_dropout is None else self.head_dropout


class BertSpec(EncoderSpec):
    """BERT as in Devlin et al. 2019, §3."""

    family: ClassVar[str] = "bert"
    segments: int = Field(
        2,
        ge=1,
        le=1_000,
        title="Segments",
        description="Number of segment (token type) embeddings: first and second sentence.",
        json_schema_extra=setting("elsewhere"),
    )
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

    @property
    def segment_rows(self) -> int:
        return self.segments


class RobertaSpec(EncoderSpec):
    """RoBERTa (Liu et al. 2019): BERT with positions counted from behind the id of padding."""

    family: ClassVar[str] = "roberta"
    segments: int = Field(
        1,
        ge=1,
        le=1_000,
        title="Segments",
        description="Rows of the segment embedding; only the first is used as a rule.",
        json_schema_extra=setting("elsewhere"),
    )
    one_segment: bool = Field(
        True,
        title="One segment",
        description="Both texts of a pair have the first segment, as the tokenizer says.",
        json_schema_extra=setting("elsewhere"),
    )
    pad_token_id: int = Field(
        1,
        ge=0,
        le=10_000_000,
        title="Padding token id",
        description="Positions are counted from the id after it.",
        json_schema_extra=setting("elsewhere"),
    )

    @property
    def position_rows(self) -> int:
        return self.max_positions + self.pad_token_id + 1

    @property
    def segment_rows(self) -> int:
        return self.segments

    @property
    def fixed_pad_id(self) -> int:
        return self.pad_token_id

    @property
    def head_activation(self) -> Activation:
        return "gelu"  # whatever the layers have


class XlmRobertaSpec(RobertaSpec):
    """XLM-RoBERTa (Conneau et al. 2020): RoBERTa on 100 languages, with a Unigram vocabulary."""

    family: ClassVar[str] = "xlm-roberta"


class CamembertSpec(RobertaSpec):
    """CamemBERT (Martin et al. 2020): RoBERTa on French, with a Unigram vocabulary."""

    family: ClassVar[str] = "camembert"


class DistilBertSpec(EncoderSpec):
    """DistilBERT (Sanh et al. 2019): BERT without segments, and with half of the layers."""

    family: ClassVar[str] = "distilbert"
    head_dropout: Share | None = Field(
        0.2,
        title="Head dropout",
        description="Dropout probability before the output layer of a classifier.",
    )
    answer_dropout: Share = Field(
        0.1,
        title="Question-answering head dropout",
        description="Dropout probability before the output layer for question answering.",
    )

    def dropout_before(self, head: Head) -> float:
        if head.finds_spans:
            return self.answer_dropout
        return self.dropout if head.reads_tokens else super().dropout_before(head)


class AlbertSpec(EncoderSpec):
    """ALBERT (Lan et al. 2020): small word vectors that are widened, and layers that are shared."""

    family: ClassVar[str] = "albert"
    shares_layers: ClassVar[bool] = True
    embedding_size: int = Field(
        128,
        ge=1,
        le=65_536,
        title="Embedding size",
        description="Size of the token embeddings before they are projected to the hidden size.",
    )
    layer_groups: int = Field(
        1,
        ge=1,
        le=1_000,
        title="Layer groups",
        description="Layers of one group share their weights; 1 = all layers do.",
    )
    segments: int = Field(
        2,
        ge=1,
        le=1_000,
        title="Segments",
        description="Number of segment (token type) embeddings: first and second sentence.",
        json_schema_extra=setting("elsewhere"),
    )
    dropout: Share = Field(
        0.0,
        title="Dropout",
        description="Dropout probability after each sub-layer during training.",
    )
    attention_dropout: Share = Field(
        0.0,
        title="Attention dropout",
        description="Dropout probability of the attention weights during training.",
    )
    activation: Activation = Field(
        "gelu_new", title="Activation", description="Non-linearity of the feed-forward layers."
    )
    head_dropout: Share | None = Field(
        0.1,
        title="Head dropout",
        description="Dropout probability before the output layer that fine-tuning adds.",
    )

    @model_validator(mode="after")
    def _groups_have_layers(self) -> Self:
        if self.layer_groups > self.layers:
            raise broken(
                phrase(
                    "there are more layer groups ({groups}) than layers ({layers})",
                    groups=self.layer_groups,
                    layers=self.layers,
                ),
                "layer_groups",
                "layers",
            )
        return self

    @property
    def segment_rows(self) -> int:
        return self.segments

    @property
    def token_size(self) -> int:
        return self.embedding_size

    @property
    def projects_tokens(self) -> bool:
        return True  # to the same size, too

    @property
    def stored_layers(self) -> int:
        return self.layer_groups

    def group_at(self, number: int) -> int:
        """The group whose weights layer `number` uses, both counted from 0, as published."""
        return int(number / (self.layers / self.layer_groups))

    def heights_of(self, stored: int) -> range:
        found = [n + 1 for n in range(self.layers) if self.group_at(n) == stored]
        return range(found[0], found[-1] + 1)


class MpnetSpec(EncoderSpec):
    """MPNet (Song et al. 2020): positions counted from behind padding, and distances besides."""

    family: ClassVar[str] = "mpnet"
    padding: ClassVar[int] = 1  # its id, which no config changes

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


class DebertaSpec(EncoderSpec):
    """DeBERTa v2 and v3 (He et al. 2021): scores of content, and of positions beside it."""

    family: ClassVar[str] = "deberta-v2"
    layer_norm_eps: float = Field(
        1e-7,
        gt=0,
        title="LayerNorm epsilon",
        description="Added to the variance in each LayerNorm.",
    )
    segments: int = Field(
        0,
        ge=0,
        le=1_000,
        title="Segments",
        description="Number of segment (token type) embeddings; 0 = none.",
        json_schema_extra=setting("elsewhere"),
    )
    absolute_positions: bool = Field(
        True,
        title="Absolute positions",
        description="Position embeddings are added to the token embeddings, as in BERT.",
        json_schema_extra=setting("elsewhere"),
    )
    position_buckets: int = Field(
        -1,
        ge=-1,
        le=1_000_000,
        title="Position buckets",
        description="Number of relative positions on each side; -1 = the maximum distance.",
        json_schema_extra=setting("elsewhere"),
    )
    max_relative_positions: int = Field(
        -1,
        ge=-1,
        le=1_000_000,
        title="Max. relative positions",
        description="Largest distance between two tokens that counts; -1 = the max. positions.",
        json_schema_extra=setting("elsewhere"),
    )
    convolution: int = Field(
        0,
        ge=0,
        le=99,
        title="Convolution size",
        description="Tokens that a convolution beside the first layer reads; 0 = none.",
        json_schema_extra=setting("elsewhere"),
    )
    convolution_activation: Activation = Field(
        "tanh",
        title="Convolution activation",
        description="Non-linearity of the convolution.",
        json_schema_extra=setting("elsewhere"),
    )
    pooler_dropout: Share = Field(
        0.0,
        title="Pooler dropout",
        description="Dropout probability before the pooler.",
    )
    pooler_activation: Activation = Field(
        "gelu",
        title="Pooler activation",
        description="Non-linearity of the pooler.",
    )

    @property
    def parts(self) -> LayerParts:
        positions: Literal["learned", "none"] = "learned" if self.absolute_positions else "none"
        return LayerParts(positions=positions, relative="disentangled")

    @property
    def segment_rows(self) -> int:
        return self.segments

    @property
    def farthest(self) -> int:
        """The largest distance between tokens that is told from smaller ones."""
        return (
            self.max_positions if self.max_relative_positions < 1 else self.max_relative_positions
        )

    @property
    def relative_buckets(self) -> int:
        return 2 * (self.position_buckets if self.position_buckets > 0 else self.farthest)

    def dropout_before(self, head: Head) -> float:
        if head.reads_tokens and not head.finds_spans:
            return self.dropout
        return super().dropout_before(head)


class ModernBertSpec(EncoderSpec):
    """ModernBERT (Warner et al. 2024): 8,192 tokens, most layers with a window."""

    family: ClassVar[str] = "modernbert"
    max_positions: int = Field(
        8192,
        ge=2,
        le=1_000_000,
        title="Max. positions",
        description="Maximum number of tokens in an input.",
    )
    dropout: Share = Field(
        0.0,
        title="Dropout",
        description="Dropout probability after each sub-layer during training.",
    )
    attention_dropout: Share = Field(
        0.0,
        title="Attention dropout",
        description="Dropout probability of the attention weights during training.",
    )
    layer_norm_eps: float = Field(
        1e-5,
        gt=0,
        title="LayerNorm epsilon",
        description="Added to the variance in each LayerNorm.",
    )
    head_dropout: Share | None = Field(
        0.0,
        title="Head dropout",
        description="Dropout probability before the output layer that fine-tuning adds.",
    )
    classifier_activation: Activation = Field(
        "gelu", title="Head activation", description="Non-linearity of the heads."
    )
    window: int = Field(
        128,
        ge=2,
        le=1_000_000,
        title="Window",
        description="Tokens, half of them on each side, to which most layers attend.",
        json_schema_extra=setting("elsewhere"),
    )
    all_every: int = Field(
        3,
        ge=1,
        le=1_000,
        title="Global attention every",
        description="Every so many layers, from the first on, attend to all tokens.",
        json_schema_extra=setting("elsewhere"),
    )
    rotary_base: float = Field(
        10_000.0,
        gt=1,
        title="Rotary base",
        description="Base of the angles of the layers with a window.",
        json_schema_extra=setting("elsewhere"),
    )
    rotary_base_all: float = Field(
        160_000.0,
        gt=1,
        title="Rotary base of global layers",
        description="Base of the angles of the layers that attend to all tokens.",
        json_schema_extra=setting("elsewhere"),
    )

    @property
    def parts(self) -> LayerParts:
        return LayerParts(
            norm="pre",
            positions="rotary",
            feed_forward="gated",
            biases=False,
            first_norm=False,
            window=self.window // 2,
            all_every=self.all_every,
            rotary_base=self.rotary_base,
            rotary_base_all=self.rotary_base_all,
        )

    @property
    def head_biases(self) -> bool:
        return False

    @property
    def turns_tokens(self) -> bool:
        return True

    @property
    def head_activation(self) -> Activation:
        return self.classifier_activation

    def dropout_before(self, head: Head) -> float:
        return self.head_dropout or 0.0


class ElectraSpec(EncoderSpec):
    """ELECTRA (Clark et al. 2020): BERT, of which the small one has small word vectors."""

    family: ClassVar[str] = "electra"
    embedding_size: int = Field(
        128,
        ge=1,
        le=65_536,
        title="Embedding size",
        description="Size of the token embeddings before they are projected to the hidden size.",
    )
    segments: int = Field(
        2,
        ge=1,
        le=1_000,
        title="Segments",
        description="Number of segment (token type) embeddings: first and second sentence.",
        json_schema_extra=setting("elsewhere"),
    )

    @property
    def segment_rows(self) -> int:
        return self.segments

    @property
    def token_size(self) -> int:
        return self.embedding_size

    @property
    def head_activation(self) -> Activation:
        return "gelu"  # whatever the layers have


def bert(layers: int, width: int, vocabulary: int = 30522) -> BertSpec:
    """The published proportions: heads of width 64 and a feed-forward part of four widths."""
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
