"""The size and shape of a network."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from engine.spec import Spec

Share = Annotated[float, Field(ge=0, lt=1)]


class EncoderSpec(Spec):
    """What the networks of the family share: L layers of width D (H in papers) with A heads."""

    family: ClassVar[str]

    vocabulary: int = Field(
        30522,
        ge=6,
        le=10_000_000,
        title="Vocabulary",
        description="How many different word pieces the network knows.",
    )
    width: int = Field(
        768,
        ge=1,
        le=65_536,
        title="Width",
        description="Length of the vector of each token (hidden size).",
    )
    layers: int = Field(
        12,
        ge=1,
        le=1_000,
        title="Layers",
        description="How many encoder blocks stand above one another.",
    )
    heads: int = Field(
        12,
        ge=1,
        le=1_000,
        title="Heads",
        description="Attention heads in each layer; must divide the width.",
    )
    inner: int = Field(
        3072,
        ge=1,
        le=262_144,
        title="Feed-forward width",
        description=(
            "Width of the layer inside each feed-forward part; four times the width in the paper."
        ),
    )
    positions: int = Field(
        512,
        ge=2,
        le=1_000_000,
        title="Longest input",
        description="How many tokens an input may have at the most.",
    )
    dropout: Share = Field(
        0.1,
        title="Dropout",
        description="Share of values set to zero after each part while training.",
    )
    attention_dropout: Share = Field(
        0.1,
        title="Attention dropout",
        description="Share of attention weights set to zero while training.",
    )
    activation: Literal["gelu", "gelu_new", "relu"] = Field(
        "gelu",
        title="Activation",
        description="Non-linearity of the feed-forward part; the paper uses GELU.",
    )
    norm_eps: float = Field(
        1e-12, gt=0, title="Norm epsilon", description="Added to the variance in each layer norm."
    )
    initial_spread: float = Field(
        0.02, gt=0, title="Initial spread", description="Standard deviation of fresh weights."
    )

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide the width {self.width}")
        return self

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def places(self) -> int:
        """Rows of the position embedding."""
        return self.positions


class BertSpec(EncoderSpec):
    """BERT as in Devlin et al. 2019, §3."""

    family: ClassVar[str] = "bert"
    segments: int = Field(
        2,
        ge=1,
        le=1_000,
        title="Segments",
        description="Kinds of segment: first and second sentence.",
    )
    causal: bool = Field(
        False,
        title="Left to right",
        description=(
            "Each token looks at those before it and at itself alone, as in the left-to-right "
            "model that the paper compares BERT with (§5.1)."
        ),
    )


AnySpec = BertSpec


def bert(layers: int, width: int, vocabulary: int = 30522) -> BertSpec:
    """The published proportions: heads of width 64 and a feed-forward part of four widths."""
    return BertSpec(
        layers=layers, width=width, heads=width // 64, inner=4 * width, vocabulary=vocabulary
    )


PRESETS: dict[str, BertSpec] = {
    "tiny": bert(2, 128),
    "mini": bert(4, 256),
    "small": bert(4, 512),
    "medium": bert(8, 512),
    "base": bert(12, 768),
    "large": bert(24, 1024),
}
