"""ALBERT (Lan et al. 2020): factorised embeddings and shared layers."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from engine.config.families.family import NOT_CAUSAL, Family, embedding_names, mlm_names
from engine.config.model import (
    Activation,
    Count,
    EncoderSpec,
    Share,
    WithSegments,
    WithTokenSize,
    config_keys,
    override,
)
from engine.config.problems import broken_rule
from engine.phrases import phrase


class AlbertSpec(WithTokenSize, WithSegments):
    """ALBERT (Lan et al. 2020): factorised embeddings and shared layers."""

    family: ClassVar[str] = "albert"
    shares_layers: ClassVar[bool] = True
    projects_tokens: ClassVar[bool] = True  # even to the same size
    layer_groups: Count = Field(
        1,
        title="Layer groups",
        description="Layers of one group share their weights; 1 = all layers do.",
        json_schema_extra=config_keys("num_hidden_groups"),
    )
    dropout: Share = override(EncoderSpec, "dropout", default=0.0)
    attention_dropout: Share = override(EncoderSpec, "attention_dropout", default=0.0)
    activation: Activation = override(
        EncoderSpec,
        "activation",
        default="gelu_new",
        description="Non-linearity of the feed-forward layers.",
    )
    head_dropout: Share | None = override(
        EncoderSpec,
        "head_dropout",
        ("classifier_dropout_prob",),
        default=0.1,
        description="Dropout probability before the output layer that fine-tuning adds.",
    )

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        if self.layer_groups > self.layers:
            raise broken_rule(
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
    def stored_layers(self) -> int:
        return self.layer_groups

    def group_at(self, index: int) -> int:
        """The parameter group of layer `index`, both counted from 0, as published."""
        return int(index / (self.layers / self.layer_groups))

    def layer_indices(self, stored: int) -> range:
        indices = [n + 1 for n in range(self.layers) if self.group_at(n) == stored]
        return range(indices[0], indices[-1] + 1)


FAMILY = Family(
    title="ALBERT",
    classes="Albert",
    spec=AlbertSpec,
    network="albert.Albert",
    layer="albert.encoder.albert_layer_groups.{}.albert_layers.0.",
    inner={
        "attention.query.": "attention.query.",
        "attention.key.": "attention.key.",
        "attention.value.": "attention.value.",
        "attention.output.": "attention.dense.",
        "attention.norm.": "attention.LayerNorm.",
        "feed_forward.wide.": "ffn.",
        "feed_forward.narrow.": "ffn_output.",
        "feed_forward.norm.": "full_layer_layer_norm.",
    },
    names={
        **embedding_names("albert"),
        "encoder.embeddings.widen.": "albert.encoder.embedding_hidden_mapping_in.",
        "encoder.pooler.dense.": "albert.pooler.",
        **mlm_names("predictions.dense.", "predictions.LayerNorm.", "predictions.bias"),
        "nsp.dense.": "sop_classifier.classifier.",
    },
    decoder=("predictions.decoder.weight", "predictions.decoder.bias"),
    others=NOT_CAUSAL | {"inner_group_num": (None, 1)},
    pair_head="ForPreTraining",
    orders_pairs=True,
)
