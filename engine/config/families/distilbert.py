"""DistilBERT (Sanh et al. 2019): BERT without segments, with half of the layers."""

from typing import ClassVar

from pydantic import Field

from engine.config.families.family import NOT_CAUSAL, Family, embedding_names, mlm_names
from engine.config.model import (
    Activation,
    Count,
    EncoderSpec,
    FeedForwardSize,
    Positive,
    Share,
    Width,
    config_keys,
    override,
)
from engine.config.task import Head


class DistilBertSpec(EncoderSpec):
    """DistilBERT (Sanh et al. 2019): BERT without segments, with half of the layers."""

    family: ClassVar[str] = "distilbert"
    hidden_size: Width = override(EncoderSpec, "hidden_size", ("dim",))
    layers: Count = override(EncoderSpec, "layers", ("n_layers",))
    heads: Count = override(EncoderSpec, "heads", ("n_heads",))
    intermediate_size: FeedForwardSize = override(EncoderSpec, "intermediate_size", ("hidden_dim",))
    dropout: Share = override(EncoderSpec, "dropout", ("dropout",))
    attention_dropout: Share = override(EncoderSpec, "attention_dropout", ("attention_dropout",))
    activation: Activation = override(EncoderSpec, "activation", ("activation",))
    layer_norm_eps: Positive = override(EncoderSpec, "layer_norm_eps", ())
    head_dropout: Share | None = override(
        EncoderSpec,
        "head_dropout",
        ("seq_classif_dropout",),
        default=0.2,
        description="Dropout probability before the output layer of a classifier.",
    )
    answer_dropout: Share = Field(
        0.1,
        title="Question-answering head dropout",
        description="Dropout probability before the output layer for question answering.",
        json_schema_extra=config_keys("qa_dropout"),
    )

    def dropout_before(self, head: Head) -> float:
        if head.finds_spans:
            return self.answer_dropout
        return self.dropout if head.reads_tokens else super().dropout_before(head)


FAMILY = Family(
    title="DistilBERT",
    classes="DistilBert",
    spec=DistilBertSpec,
    network="distilbert.DistilBert",
    layer="distilbert.transformer.layer.{}.",
    inner={
        "attention.query.": "attention.q_lin.",
        "attention.key.": "attention.k_lin.",
        "attention.value.": "attention.v_lin.",
        "attention.output.": "attention.out_lin.",
        "attention.norm.": "sa_layer_norm.",
        "feed_forward.wide.": "ffn.lin1.",
        "feed_forward.narrow.": "ffn.lin2.",
        "feed_forward.norm.": "output_layer_norm.",
    },
    names={
        **embedding_names("distilbert"),
        "encoder.pooler.dense.": "pre_classifier.",
        **mlm_names("vocab_transform.", "vocab_layer_norm.", "vocab_projector.bias"),
    },
    decoder=("vocab_projector.weight", ""),
    parts=("embeddings.", "transformer."),
    others=NOT_CAUSAL,
)
