"""A number for a text or a pair, as for STS-B (Devlin et al. 2019, §4.1)."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.task import (
    FROM_ZERO,
    LOSS,
    SEQUENCE,
    AggregatingTask,
    Head,
    LabelColumn,
    Metric,
    TaskInfo,
    TaskSpec,
    shorten,
    target,
)
from engine.errors import StudioError
from engine.phrases import phrase

Finite = Annotated[float, Field(allow_inf_nan=False)]


PEARSON = Metric(
    "pearson",
    title="Pearson correlation",
    short="Pearson",
    unit="number",
    limits=(-1.0, 1.0),
    description="The linear correlation of predicted and true numbers, from -1 to 1.",
)
SPEARMAN = Metric(
    "spearman",
    title="Spearman correlation",
    short="Spearman",
    unit="number",
    limits=(-1.0, 1.0),
    description=(
        "The agreement of the order of the predictions with the true order, from "
        "-1 to 1; only ranks count."
    ),
)


MEAN_ABSOLUTE_ERROR = Metric(
    "mean_absolute_error",
    title="mean absolute error",
    description=(
        "The mean distance between predicted and true number, in their unit; of ordered labels, in "
        "steps of the scale."
    ),
    higher_is_better=False,
    unit="number",
    limits=FROM_ZERO,
)


class ScaledTask(TaskSpec):
    """A task whose labels are numbers on a scale; subclasses give the range a title."""

    range: tuple[Finite, Finite] | None = None

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.range is not None and self.range[0] >= self.range[1]:
            raise ValueError("the range must start below its end")
        return self

    def number_problems(
        self, labels: LabelColumn | None, type_advice: str, constant_advice: str
    ) -> Iterator[StudioError]:
        """Yield the problems of labels that are not numbers, or all the same, with advice."""
        if labels is None or not labels.cells:
            return
        if labels.spelling_problem is not None:
            yield labels.spelling_problem
        elif wrong := labels.not_numbers:
            problem = phrase(
                "{rows:,} of {every:,} rows have no number as their label, such as “{label}”.",
                rows=sum(wrong.values()),
                every=sum(labels.cells.values()),
                label=shorten(next(iter(wrong))),
            )
            yield StudioError(problem, type_advice)
        elif len(labels.numbers) == 1:
            problem = phrase(
                "The number is {label} in every row, so there is nothing to learn.",
                label=shorten(next(filter(None, labels.cells))),
            )
            yield StudioError(problem, constant_advice)


class Regression(ScaledTask, AggregatingTask):
    """A number for a text or a pair, such as the similarity of two sentences."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Regression",
        head=Head(
            SEQUENCE,
            tensors=(Output(name="logits", of="input", meaning="numbers"),),
            outputs=1,
            problem_type="regression",
        ),
        metrics=(
            PEARSON,
            SPEARMAN,
            MEAN_ABSOLUTE_ERROR,
            LOSS,
        ),
        best_metric="pearson",
        reads=("text", "label"),
        may_read=("pair",),
        required_cells=("text", "pair"),
        labelled_by=("label",),
        hub_pipeline="text-classification",
        row_figures=("gold", "predicted", "residual"),
    )
    kind: Literal["regression"] = "regression"
    range: tuple[Finite, Finite] | None = Field(
        None,
        title="Range",
        description=(
            "The scale on which predictions are shown; empty: from the lowest to the highest "
            "number of the training set."
        ),
        json_schema_extra=setting("elsewhere"),
    )

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return target(columns) == "label" and labels is not None and labels.is_scale

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.label is None:
            yield StudioError(
                "Regression needs a number for each row.",
                "Choose the column that holds the number.",
            )
            return
        yield from self.number_problems(
            labels,
            phrase("Choose another label column, or write numbers such as 3.5."),
            phrase("Choose another label column."),
        )
