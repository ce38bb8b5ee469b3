"""Spans of words with labels, nested and overlapping ones too (Su et al. 2022)."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.dataset import DatasetSpec
from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.task import (
    EXACT_MATCH,
    F1,
    F1_MACRO,
    LOSS,
    PRECISION,
    RECALL,
    TOKENS,
    ClassWeight,
    Head,
    LabelColumn,
    LabelledTask,
    Metric,
    TaskInfo,
)
from engine.errors import StudioError

MAX_WORDS = 512  # of a span
SPAN_SIZE = 32
"""Size of the two vectors of each word."""
PRIOR = 5
"""Taken off each logit, so that a new head expects one of 150 candidates to be a span (as the prior
of Lin et al. 2017, §3.3), and does not begin by unlearning half of them."""


class SpanClassification(LabelledTask):
    """Spans of words, each with a label; one may lie in another or overlap it."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Span classification (nested NER)",
        head=Head(
            TOKENS,
            tensors=(Output(name="logits", of="token", meaning="numbers"),),
            span_size=SPAN_SIZE,
        ),
        metrics=(
            F1,
            F1_MACRO,
            PRECISION,
            RECALL,
            Metric(
                "f1_nested",
                title="F1 of nested spans",
                short="nested F1",
                description="The F1 of the spans that share words with another span of their side.",
            ),
            EXACT_MATCH,
            LOSS,
        ),
        best_metric="f1",
        reads=("text", "tags"),
        required_cells=("text",),
        labelled_by=("tags",),
        hub_pipeline="token-classification",
        row_figures=("score", "probability"),
    )
    kind: Literal["span_classification"] = "span_classification"
    labels: tuple[str, ...] = Field(
        (),
        title="Labels",
        description=(
            "The labels of spans in the order of their ids. Empty: all labels of the training set, "
            "sorted."
        ),
        json_schema_extra=setting("elsewhere"),
    )
    class_weights: dict[str, ClassWeight] = Field(
        {},
        title="Label weights",
        description=(
            "Weight in the loss of the spans that have a label, by its name; a label that is not "
            "listed has weight 1."
        ),
        json_schema_extra=setting(branch=True),
    )
    max_words: Annotated[int, Field(ge=0, le=MAX_WORDS)] = Field(
        0,
        title="Longest span",
        description=(
            "The most words of a span. Longer ones are never predicted; time and memory of the "
            "head grow with it. 0 = the longest span of the training rows."
        ),
        json_schema_extra=setting(branch=True),
    )

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.tags is None:
            yield StudioError(
                "Span classification needs the spans of each text.",
                "Choose the column of spans, or of tags, one for each word.",
            )

    def label_names(self, dataset: DatasetSpec | None, labels: LabelColumn) -> tuple[str, ...]:
        return self.labels or (tuple(dataset.spans) if dataset else ())
