"""Masked-language modelling and next-sentence prediction (Devlin et al. 2019, §3.1)."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.dataset import Mapping as Columns
from engine.config.fields import setting
from engine.config.problems import Problem
from engine.config.task import (
    ACCURACY,
    FROM_ZERO,
    LOSS,
    LabelColumn,
    Metric,
    TaskInfo,
    TaskSpec,
    target,
)
from engine.config.training import TrainingSpec
from engine.phrases import phrase

# learning rates for masked-language modelling with few steps
CONTINUED = TrainingSpec(epochs=1, batch_size=32, learning_rate=1e-4, max_length=128)
FROM_SCRATCH = TrainingSpec(epochs=3, batch_size=32, learning_rate=5e-4, max_length=128)


class Pretraining(TaskSpec):
    """Masked-language modelling, optionally with next-sentence prediction; their losses are added.

    The objective CLM is the left-to-right language model that the paper compares with (§5.1).
    """

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Pre-training (MLM)",
        head=None,
        metrics=(
            LOSS,
            Metric(
                "loss_mlm",
                title="MLM loss",
                higher_is_better=False,
                unit="number",
                limits=FROM_ZERO,
                description=(
                    "The mean cross-entropy of the masked tokens, in nats. A model that knows "
                    "nothing has the logarithm of the vocabulary size, about 10 for 30,000 tokens."
                ),
            ),
            Metric(
                "loss_nsp",
                title="NSP loss",
                higher_is_better=False,
                unit="number",
                limits=FROM_ZERO,
                description=(
                    "The mean cross-entropy of next-sentence prediction, in nats; chance is 0.69."
                ),
            ),
            ACCURACY,
            Metric(
                "top5",
                title="top-5 accuracy",
                description=(
                    "The fraction of masked tokens that are among the five most probable ones."
                ),
            ),
            Metric(
                "nsp_accuracy",
                title="NSP accuracy",
                description=(
                    "How often next-sentence prediction is correct; always predicting IsNext "
                    "gives the IsNext ratio."
                ),
            ),
        ),
        best_metric="loss",
        reads=("text",),
        training=CONTINUED,
        from_scratch=FROM_SCRATCH,
        cuts_long_texts=False,
        hub_pipeline="fill-mask",
    )
    kind: Literal["pretraining"] = "pretraining"
    objective: Literal["mlm", "clm"] = Field(
        "mlm",
        title="Objective",
        description=(
            "Masked language modelling (MLM) predicts masked tokens from both sides, as BERT does. "
            "Causal language modelling (CLM), the paper's comparison, predicts each token from "
            "those to its left; the network stays left-to-right when it is fine-tuned."
        ),
    )
    mlm_probability: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.15,
        title="Masking probability",
        description="Fraction of the tokens that are selected for prediction; 0.15 in the paper.",
        json_schema_extra=setting(branch=True, fraction=True),
    )
    mask_token_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.8,
        title="Replaced by [MASK]",
        description="Fraction of the selected tokens that [MASK] replaces; 0.8 in the paper.",
        json_schema_extra=setting(branch=True, fraction=True),
    )
    random_token_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1,
        title="Replaced by a random token",
        description=(
            "Fraction of the selected tokens that a random token replaces; 0.1 in the paper. The "
            "rest is kept unchanged."
        ),
        json_schema_extra=setting(branch=True, fraction=True),
    )
    whole_word_masking: bool = Field(
        False,
        title="Whole-word masking",
        description="Mask all tokens of a word together instead of single tokens.",
        json_schema_extra=setting(branch=True),
    )
    masking: Literal["dynamic", "static"] = Field(
        "dynamic",
        title="Masking",
        description=(
            "Dynamic masking selects new tokens every time an input is seen; static masking "
            "selects the same ones in every epoch."
        ),
        json_schema_extra=setting(branch=True),
    )
    nsp: bool = Field(
        False,
        title="Next-sentence prediction (NSP)",
        description=(
            "Also learn whether the second of two segments follows the first, as in the paper. "
            "Needs documents of several sentences."
        ),
    )
    is_next_ratio: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.5,
        title="IsNext ratio",
        description=(
            "Fraction of the pairs whose second segment follows the first; 0.5 in the paper."
        ),
        json_schema_extra=setting(branch=True, fraction=True),
    )
    dupe_factor: Annotated[int, Field(ge=1, le=1_000)] = Field(
        1,
        title="Duplication factor",
        description=(
            "How often each document is split into pairs, each time differently; the pairs stay "
            "the same in all epochs. 10 in the paper's code."
        ),
    )
    long_length: Annotated[int, Field(ge=0, le=65_536)] = Field(
        0,
        title="Final max. length (tokens)",
        description=(
            "Length of the inputs in the last steps, so that far positions are learned too; 512 in "
            "the paper, after 128. 0: all inputs have the same length."
        ),
        json_schema_extra=setting(branch=True),
    )
    long_share: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.1,
        title="Fraction of steps at the final length",
        description="Fraction of the steps, at the end, with the longer inputs; 0.1 in the paper.",
        json_schema_extra=setting(branch=True, fraction=True),
    )

    @property
    def causal(self) -> bool:
        return self.objective == "clm"

    @property
    def needs_nsp(self) -> bool:
        return self.nsp

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return target(columns) is None

    def broken_rules(self) -> Iterator[Problem]:
        if self.causal and self.nsp:
            yield Problem(
                phrase(
                    "Next-sentence prediction needs the MLM objective: with CLM, [CLS] attends to "
                    "nothing on its right"
                ),
                ("nsp", "objective"),
            )
        if self.mask_token_share + self.random_token_share > 1:
            yield Problem(
                phrase(
                    "“Replaced by [MASK]” and “Replaced by a random token” add up to more than 1"
                ),
                ("mask_token_share", "random_token_share"),
            )
