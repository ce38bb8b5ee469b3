"""Sentence vectors (Reimers and Gurevych 2019)."""

from collections.abc import Container, Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.problems import Problem
from engine.config.sentence import PoolingMode
from engine.config.task import (
    ACCURACY,
    ENCODER,
    LOSS,
    AggregatingTask,
    Head,
    LabelColumn,
    Metric,
    Role,
    TaskInfo,
    TaskSpec,
    target,
)
from engine.config.tasks.regression import PEARSON, SPEARMAN, Finite, ScaledTask
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.phrases import phrase

Objective = Literal["cosine", "in_batch_negatives", "triplets"]


class SentenceSimilarity(ScaledTask, AggregatingTask):
    """Sentence vectors whose cosine is a similarity."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Sentence similarity",
        head=Head(
            ENCODER,
            tensors=(Output(name="sentence_embedding", of="input", meaning="numbers"),),
            pools=True,
        ),
        metrics=(
            SPEARMAN,
            PEARSON,
            ACCURACY,
            Metric(
                "mrr",
                title="mean reciprocal rank",
                short="MRR@10",
                unit="number",
                description=(
                    "The mean of 1 / rank of the text that belongs to each first text, among all "
                    "second texts by their cosine; 0 where it is not among the first ten."
                ),
            ),
            Metric(
                "recall_at_10",
                title="recall@10",
                description=(
                    "The fraction of texts that belong to a first text and are among the ten "
                    "nearest of all second texts."
                ),
            ),
            LOSS,
        ),
        best_metric="spearman",
        reads=("text", "pair"),
        may_read=("label", "negative"),
        required_cells=("text", "pair", "negative"),
        labelled_by=("label",),
        training=TrainingSpec(epochs=1, batch_size=32, learning_rate=2e-5),
        hub_pipeline="sentence-similarity",
        row_figures=("gold", "predicted", "residual"),
    )
    kind: Literal["sentence_similarity"] = "sentence_similarity"
    windows_per_text: Annotated[int, Field(ge=0, le=1024)] = Field(
        0,
        title="Windows per text in a step",
        description=(
            "Train end to end: gradients flow through this many windows of each text, drawn again "
            "in every epoch, and memory grows with it. 0 = the first window of each text is "
            "trained, and vectors are pooled over all of them afterwards."
        ),
        json_schema_extra=setting(branch=True, ticks=(0, 2, 4, 8)),
    )
    objective: Literal["auto", "cosine", "in_batch_negatives", "triplets"] = Field(
        "auto",
        title="Loss",
        description=(
            "Form of the training rows. Cosine: a number for each pair. In-batch "
            "negatives (multiple negatives ranking): pairs that belong together; the "
            "other second texts of the batch do not. Triplets: the second text is "
            "nearer than the negative one. auto: cosine if there is a label column, "
            "triplets if there is a negative text, else in-batch negatives."
        ),
        json_schema_extra=setting("simple"),
    )
    pooling: Literal["auto", "mean", "cls", "max"] = Field(
        "auto",
        title="Pooling",
        description=("Pooling of the token vectors. auto: as in the base model, else the mean."),
        json_schema_extra=setting(),
    )
    scale: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] = Field(
        20.0,
        title="Scale of the cosines",
        description="In-batch negatives: what cosines are multiplied by, 1 / temperature.",
        json_schema_extra=setting(branch=True),
    )
    margin: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = Field(
        5.0,
        title="Margin of triplets",
        description=(
            "By how much nearer the second text should be than the negative one, as Euclidean "
            "distance. With vectors of length 1, which differ by at most 2, use 0.5 or less."
        ),
        json_schema_extra=setting(branch=True),
    )
    range: tuple[Finite, Finite] | None = Field(
        None,
        title="Range",
        description=(
            "The numbers for a cosine of 0 and of 1. Empty: 0 and 1 if all numbers of "
            "the training set are between -1 and 1; otherwise from 0, or the lowest if "
            "that is negative, to the highest."
        ),
        json_schema_extra=setting("elsewhere"),
    )

    def broken_rules(self) -> Iterator[Problem]:
        yield from super().broken_rules()
        if self.scores_windows:
            yield Problem(
                phrase(
                    "A sentence encoder stores no weight for attention over windows, so that other "
                    "programs compute the same vectors: choose another aggregation than attention"
                ),
                ("aggregate",),
            )

    @property
    def poolings(self) -> tuple[PoolingMode, ...] | None:
        """The requested pooling; None: that of the base model."""
        return None if self.pooling == "auto" else (self.pooling,)

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return target(columns) is None and columns.pair is not None

    @classmethod
    def predicts_numbers(cls, metrics: Container[str]) -> bool:
        return SPEARMAN.name in metrics  # else the rows are pairs to search, or triplets

    def without_labels(self) -> TaskSpec:
        return self.model_copy(update={"objective": "auto"})

    @property
    def labelled_by(self) -> tuple[Role, ...]:
        return super().labelled_by if self.objective in ("auto", "cosine") else ()

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.pair is None:
            yield StudioError(
                "Sentence similarity needs a second text in each row.",
                "Choose the column that holds the second text.",
            )
        if self.objective == "triplets" and columns.negative is None:
            yield StudioError(
                "Triplets need a text in each row that does not belong to the first one.",
                "Choose the column of the negative text, or another loss.",
            )
        if self.objective == "cosine" and columns.label is None:
            yield StudioError(
                "The cosine loss needs a number for each pair.",
                "Choose the column that holds the number, or another loss.",
            )
        if columns.label is not None and self.objective in ("auto", "cosine"):
            advice = phrase("Choose another label column, or the loss in-batch negatives.")
            yield from self.number_problems(labels, advice, advice)
