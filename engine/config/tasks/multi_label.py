"""Multi-label classification of a text or a pair."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import DatasetSpec
from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.task import (
    EXACT_MATCH,
    F1_MACRO,
    LOSS,
    MAX_CLASSES,
    SEQUENCE,
    AggregatingTask,
    ClassWeight,
    Head,
    LabelColumn,
    LabelledTask,
    Metric,
    TaskInfo,
    target,
)
from engine.errors import StudioError
from engine.phrases import phrase


class MultiLabel(LabelledTask, AggregatingTask):
    """Multi-label classification of a text or a pair."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Multi-label classification",
        head=Head(
            SEQUENCE,
            tensors=(Output(name="logits", of="input", meaning="any"),),
            problem_type="multi_label_classification",
        ),
        metrics=(
            Metric(
                "f1_micro",
                title="micro F1",
                description=(
                    "The F1 of all pairs of a row and a label together, so that frequent labels "
                    "count more."
                ),
            ),
            F1_MACRO,
            EXACT_MATCH,
            Metric(
                "average_precision",
                title="average precision",
                description=(
                    "The quality of the ranking of rows by each label, averaged over the "
                    "labels; needs no threshold."
                ),
            ),
            LOSS,
        ),
        best_metric="f1_micro",
        reads=("text",),
        may_read=("pair", "label", "flags"),
        required_cells=("text", "pair"),
        labelled_by=("flags",),
        empty_label=phrase(
            "A row without labels counts as a row to which no label applies: leave out those that "
            "are not labelled yet."
        ),
        hub_pipeline="text-classification",
        row_figures=("probability",),
    )
    kind: Literal["multi_label"] = "multi_label"
    balanced: bool = Field(
        False,
        title="Balance the labels",
        description=(
            "Give rare labels a higher weight: the number of rows without the label, divided by "
            "the number of rows with it."
        ),
        json_schema_extra=setting(branch=True),
    )
    class_weights: dict[str, ClassWeight] = Field(
        {},
        title="Label weights",
        description=(
            "Weight in the loss of the rows that have a label, by its name; a label that is not "
            "listed has weight 1, or its balanced weight."
        ),
        json_schema_extra=setting(branch=True),
    )

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        if target(columns) == "flags":
            return True
        several = labels is not None and not labels.is_scale and labels.sets is not None
        return target(columns) == "label" and several

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.label is None and not columns.flags:
            yield StudioError(
                "Multi-label classification needs a column with the labels of each row.",
                "Choose one that lists all labels of a row, or several yes/no columns, one for "
                "each label.",
            )
        if labels is None or columns.flags:
            return
        names = set(labels.sets or labels.cells) - {""}
        if not names:
            yield StudioError("No row has a label.", "Choose another label column.")
        if len(names) > MAX_CLASSES:
            yield StudioError(
                "There are {count:,} different labels, too many to learn.",
                "Choose another label column.",
                count=len(names),
            )
        yield from self.check_labels(labels)

    def label_rows(self, dataset: DatasetSpec, labels: LabelColumn) -> dict[str, int]:
        rows = labels.cells if dataset.mapping.flags else labels.sets or labels.cells
        return {label: count for label, count in rows.items() if label or dataset.mapping.flags}
