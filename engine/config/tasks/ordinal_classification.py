"""One of several ordered labels, such as stars, for a text or a pair (Shi et al. 2023)."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from engine.config.dataset import DatasetSpec
from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.task import (
    ACCURACY,
    F1_MACRO,
    LOSS,
    SEQUENCE,
    Head,
    LabelColumn,
    Metric,
    TaskInfo,
)
from engine.config.tasks.regression import MEAN_ABSOLUTE_ERROR
from engine.config.tasks.text_classification import ClassTask
from engine.errors import StudioError
from engine.phrases import phrase

QUADRATIC_KAPPA = Metric(
    "quadratic_kappa",
    title="quadratic weighted kappa",
    short="QWK",
    unit="number",
    limits=(-1.0, 1.0),
    description=(
        "The agreement of predicted and true labels beyond chance; a mistake counts as the square "
        "of its distance on the scale. 1 is perfect, 0 is chance (Cohen 1968)."
    ),
)


class OrdinalClassification(ClassTask):
    """One of several ordered labels, such as stars or agreement, for a text or a pair."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Ordinal classification",
        head=Head(
            SEQUENCE,
            tensors=(Output(name="logits", of="input", meaning="one"),),
            problem_type="multi_label_classification",  # each output has a sigmoid of its own
            is_ordinal=True,
        ),
        metrics=(QUADRATIC_KAPPA, MEAN_ABSOLUTE_ERROR, ACCURACY, F1_MACRO, LOSS),
        best_metric="quadratic_kappa",
        reads=("text", "label"),
        may_read=("pair",),
        required_cells=("text", "pair"),
        labelled_by=("label",),
        hub_pipeline="text-classification",
        row_figures=("probability", "margin"),
    )
    kind: Literal["ordinal_classification"] = "ordinal_classification"

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return False  # the user decides if an order matters

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.label is None or columns.endings or labels is None or not any(labels.cells):
            yield from self.class_problems(columns, labels)
            return
        names = [label for label in labels.cells if label]
        if not self.labels and not labels.ordered:
            yield StudioError(
                phrase("The order of the labels is not known: {names}.", names=_examples(names)),
                phrase(
                    "Begin each label with its number (“1 poor”, “2 fair”); by command, --labels "
                    "lists them from the lowest to the highest."
                ),
            )
        yield from self.check_labels(labels)

    def label_rows(self, dataset: DatasetSpec, labels: LabelColumn) -> dict[str, int]:
        rows = super().label_rows(dataset, labels)
        order = self.labels or labels.ordered or tuple(rows)
        return {label: rows[label] for label in order if label in rows}


def _examples(names: list[str]) -> str:
    shown = ", ".join(f"“{name[:40]}”" for name in names[:5])
    return f"{shown}, …" if len(names) > 5 else shown
