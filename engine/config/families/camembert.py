"""CamemBERT (Martin et al. 2020): RoBERTa on French, with a Unigram vocabulary."""

from dataclasses import replace
from typing import ClassVar

from engine.config.families import roberta


class CamembertSpec(roberta.RobertaSpec):
    """CamemBERT (Martin et al. 2020): RoBERTa on French, with a Unigram vocabulary."""

    family: ClassVar[str] = "camembert"


FAMILY = replace(
    roberta.FAMILY, title="CamemBERT", prefix="roberta", classes="Camembert", spec=CamembertSpec
)
