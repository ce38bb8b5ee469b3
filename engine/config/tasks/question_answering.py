"""Extractive question answering (Devlin et al. 2019, §4.2 and §4.3).

Long passages are read in overlapping windows.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.task import (
    EXACT_MATCH,
    F1,
    LOSS,
    SPANS,
    Head,
    LabelColumn,
    Metric,
    TaskInfo,
    TaskSpec,
)
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.phrases import phrase


class QuestionAnswering(TaskSpec):
    """Extractive question answering: the answer is a span of the passage, or there is none."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Question answering",
        head=Head(
            SPANS,
            tensors=(
                Output(name="start_logits", of="token", meaning="one"),
                Output(name="end_logits", of="token", meaning="one"),
            ),
            outputs=2,
        ),
        metrics=(
            F1,
            EXACT_MATCH,
            Metric(
                "best_f1",
                title="best F1 (any no-answer threshold)",
                description=(
                    "The F1 with the no-answer threshold that would have been best on these rows; "
                    "it shows how much a better threshold could gain."
                ),
            ),
            LOSS,
        ),
        best_metric="f1",
        reads=("text", "pair", "answers"),
        required_cells=("text", "pair"),
        empty_label=phrase(
            "A question without an answer counts as one that its passage does not answer: leave "
            "out those that are not answered yet."
        ),
        training=TrainingSpec(epochs=2, max_length=384),
        cuts_long_texts=False,
        hub_pipeline="question-answering",
        row_figures=("probability", "score", "no_answer"),
    )
    kind: Literal["question_answering"] = "question_answering"
    unanswerable: bool | None = Field(
        None,
        title="Unanswerable questions",
        description=(
            "Whether a question may have no answer in its passage, as in SQuAD 2.0; empty: as in "
            "the training set."
        ),
    )
    no_answer_threshold: Annotated[float, Field(ge=-1e6, le=1e6)] = Field(
        0.0,
        title="No-answer threshold",
        description=(
            "How much higher than the best answer “no answer” must score to be predicted. "
            "The evaluation reports the threshold that would have been best."
        ),
    )
    doc_stride: Annotated[int, Field(ge=1, le=65_536)] = Field(
        128,
        title="Document stride",
        description="Tokens between the starts of two windows over a passage.",
        json_schema_extra=setting(ticks=[64, 128, 192]),
    )
    max_question_length: Annotated[int, Field(ge=1, le=65_536)] = Field(
        64,
        title="Max. question length",
        description="Longer questions are truncated to this many tokens.",
    )
    max_answer_length: Annotated[int, Field(ge=1, le=65_536)] = Field(
        30, title="Max. answer length", description="No predicted answer has more tokens than this."
    )

    @classmethod
    def from_imported(cls, labels: tuple[str, ...]) -> TaskSpec:
        return cls(unanswerable=True)

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.pair is None or columns.answers is None:
            yield StudioError(
                "Question answering needs a question, a passage and its answers in each row.",
                "Import a file in the SQuAD format, or choose the columns that hold them.",
            )
