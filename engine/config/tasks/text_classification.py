"""One label for a text, from the vector of [CLS] (Devlin et al. 2019, §4.1)."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import DatasetSpec
from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.task import (
    ACCURACY,
    F1_MACRO,
    LABEL_SMOOTHING,
    LOSS,
    MAX_CLASSES,
    SEQUENCE,
    AggregatingTask,
    ClassWeight,
    Head,
    LabelColumn,
    LabelledTask,
    TaskInfo,
    shorten,
    target,
)
from engine.errors import StudioError

CLASSIFIER = Head(
    SEQUENCE,
    tensors=(Output(name="logits", of="input", meaning="one"),),
    problem_type="single_label_classification",
)
METRICS = (ACCURACY, F1_MACRO, LOSS)
MIN_NUMBERS = 4  # for each label that is none


class ClassTask(LabelledTask, AggregatingTask):
    """Settings of single-label classification."""

    balanced: bool = Field(
        False,
        title="Balance the classes",
        description=(
            "Give rare classes a higher weight: the number of rows, divided by the number of "
            "classes and by the rows of that class."
        ),
        json_schema_extra=setting(branch=True),
    )
    class_weights: dict[str, ClassWeight] = Field(
        {},
        title="Class weights",
        description=(
            "Weight of each class in the loss, by its label; a class that is not listed has "
            "weight 1, or its balanced weight."
        ),
        json_schema_extra=setting(branch=True),
    )
    label_smoothing: float = LABEL_SMOOTHING

    def label_rows(self, dataset: DatasetSpec, labels: LabelColumn) -> dict[str, int]:
        return {label: rows for label, rows in labels.cells.items() if label}

    def class_problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        """Yield the reasons why the label column does not suit classification."""
        if columns.endings:
            yield StudioError(
                "Every row has several choices.",
                "Choose “Multiple choice”, or import the data without choices.",
            )
        if columns.label is None:
            yield StudioError(
                "Classification needs a label for each row.",
                "Choose the column that holds the class.",
            )
        elif labels is not None:
            yield from self._label_problems(labels)

    def _label_problems(self, labels: LabelColumn) -> Iterator[StudioError]:
        rows = sum(rows for label, rows in labels.cells.items() if label)
        if not rows:
            yield StudioError("There are no rows to learn from.", "Choose another file.")
            return
        classes = [label for label in labels.cells if label]
        if len(classes) == 1:
            yield StudioError(
                "Only one class, “{label}”.",
                "Choose another label column, or a file with at least two classes.",
                label=shorten(classes[0]),
            )
        if labels.is_scale:
            yield StudioError(
                "The labels are {count:,} different numbers on a scale, not classes.",
                "Choose “Regression” to predict the numbers, or choose another label column.",
                count=len(classes),
            )
        elif len(classes) > MAX_CLASSES or (len(classes) > 20 and len(classes) > rows / 2):
            yield (
                labels.spelling_problem
                or self._mixed_problem(labels)
                or StudioError(
                    "There are {count:,} labels in {rows:,} rows, too many to be classes.",
                    "Choose another label column.",
                    count=len(classes),
                    rows=rows,
                )
            )
        yield from self.check_labels(labels)

    def _mixed_problem(self, labels: LabelColumn) -> StudioError | None:
        """The problem of a few labels that are no numbers among many."""
        others = labels.not_numbers
        if not others or MIN_NUMBERS * len(others) > len(labels.cells):
            return None
        return StudioError(
            "Most labels are numbers, but {n:,} label(s) are not, such as “{cell}”.",
            "Correct them in the file, or name those that mean “no label” at the import.",
            n=len(others),
            cell=shorten(next(iter(others))),
        )


class TextClassification(ClassTask):
    """One label for a text."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Text classification",
        head=CLASSIFIER,
        metrics=METRICS,
        best_metric="accuracy",
        reads=("text", "label"),
        required_cells=("text",),
        labelled_by=("label",),
        hub_pipeline="text-classification",
        row_figures=("probability", "margin"),
    )
    kind: Literal["text_classification"] = "text_classification"

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return columns.pair is None and are_classes(columns, labels)

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.pair is not None:
            yield StudioError(
                "Every row has two texts.",
                "Choose “Sentence-pair classification”, or import the data with one text only.",
            )
        yield from self.class_problems(columns, labels)


def are_classes(columns: Columns, labels: LabelColumn | None) -> bool:
    """True if each row has one label that, as far as is known, names a class."""
    if target(columns) != "label":
        return False
    return labels is None or not (labels.is_scale or labels.sets)
