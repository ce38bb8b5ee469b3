"""ELECTRA (Clark et al. 2020): BERT; the small model has small embeddings."""

from typing import ClassVar

from engine.config.families.family import (
    BERT_LAYER,
    NOT_CAUSAL,
    OWN_POOLER,
    Family,
    embedding_names,
    mlm_names,
)
from engine.config.model import Activation, WithSegments, WithTokenSize
from engine.phrases import phrase


class ElectraSpec(WithTokenSize, WithSegments):
    """ELECTRA (Clark et al. 2020): BERT; the small model has small embeddings."""

    family: ClassVar[str] = "electra"
    head_activation: ClassVar[Activation] = "gelu"  # independent of the layers


FAMILY = Family(
    title="ELECTRA",
    classes="Electra",
    spec=ElectraSpec,
    network="electra.Electra",
    layer="electra.encoder.layer.{}.",
    inner=BERT_LAYER,
    names={
        **embedding_names("electra"),
        "encoder.embeddings.widen.": "electra.embeddings_project.",
        "encoder.pooler.dense.": "sequence_summary.summary.",  # of the multiple-choice class
        **mlm_names(
            "generator_predictions.dense.",
            "generator_predictions.LayerNorm.",
            "generator_lm_head.bias",
        ),
    },
    decoder=("generator_lm_head.weight", ""),
    parts=("embeddings.", "embeddings_project.", "encoder."),
    own_pooler=OWN_POOLER,
    others=NOT_CAUSAL
    | {
        "summary_type": (None, "first"),
        "summary_use_proj": (None, True),
        "summary_activation": (None, "gelu"),
    },
    remarks={
        "discriminator_predictions.": phrase(
            "This is ELECTRA's discriminator: it is for tasks, and its head for replaced tokens is "
            "not used. The generator is the one that predicts masked tokens."
        )
    },
)
