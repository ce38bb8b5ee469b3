"""XLM-RoBERTa (Conneau et al. 2020): RoBERTa on 100 languages, with a Unigram vocabulary."""

from dataclasses import replace
from typing import ClassVar

from engine.config.families import roberta


class XlmRobertaSpec(roberta.RobertaSpec):
    """XLM-RoBERTa (Conneau et al. 2020): RoBERTa on 100 languages, with a Unigram vocabulary."""

    family: ClassVar[str] = "xlm-roberta"


FAMILY = replace(
    roberta.FAMILY, title="XLM-RoBERTa", prefix="roberta", classes="XLMRoberta", spec=XlmRobertaSpec
)
