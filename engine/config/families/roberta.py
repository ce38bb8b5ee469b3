"""RoBERTa (Liu et al. 2019): BERT with positions after the padding id."""

from typing import Annotated, ClassVar

from pydantic import Field

from engine.config.families.family import (
    BERT_LAYER,
    LM_HEAD,
    NOT_CAUSAL,
    OWN_POOLER,
    Family,
    embedding_names,
)
from engine.config.model import Activation, Count, WithSegments, config_keys, override


class RobertaSpec(WithSegments):
    """RoBERTa (Liu et al. 2019): BERT with positions after the padding id."""

    family: ClassVar[str] = "roberta"
    head_activation: ClassVar[Activation] = "gelu"  # independent of the layers
    segments: Count = override(
        WithSegments,
        "segments",
        if_absent=2,
        default=1,
        description="Rows of the segment embedding; only the first is used as a rule.",
    )
    one_segment: bool = override(WithSegments, "one_segment", default=True)
    pad_token_id: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        1,
        title="Padding token id",
        description="Positions are counted from the id after it.",
        json_schema_extra=config_keys("pad_token_id", level="elsewhere"),
    )

    @property
    def position_rows(self) -> int:
        return self.max_positions + self.pad_token_id + 1

    @property
    def fixed_pad_id(self) -> int:
        return self.pad_token_id


FAMILY = Family(
    title="RoBERTa",
    classes="Roberta",
    spec=RobertaSpec,
    network="roberta.Roberta",
    layer="roberta.encoder.layer.{}.",
    inner=BERT_LAYER,
    names={
        **embedding_names("roberta"),
        "encoder.pooler.dense.": "roberta.pooler.dense.",
        **LM_HEAD,
    },
    decoder=("lm_head.decoder.weight", "lm_head.decoder.bias"),
    own_pooler=OWN_POOLER,
    positions_after_padding=True,
    lowercase=False,
    others=NOT_CAUSAL,
)
