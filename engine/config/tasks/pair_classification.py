"""One label for a pair of texts, from the vector of [CLS] (Devlin et al. 2019, §4.1)."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from engine.config.dataset import Mapping as Columns
from engine.config.task import LabelColumn, TaskInfo
from engine.config.tasks.text_classification import CLASSIFIER, METRICS, ClassTask, are_classes
from engine.errors import StudioError


class PairClassification(ClassTask):
    """One label for a pair of texts, such as entailment or paraphrase."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Sentence-pair classification",
        head=CLASSIFIER,
        metrics=METRICS,
        best_metric="accuracy",
        reads=("text", "pair", "label"),
        required_cells=("text", "pair"),
        labelled_by=("label",),
        hub_pipeline="text-classification",
        row_figures=("probability", "margin"),
    )
    kind: Literal["pair_classification"] = "pair_classification"

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return columns.pair is not None and are_classes(columns, labels)

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.pair is None:
            yield StudioError(
                "Every row has one text, and a pair needs two.",
                "Choose “Text classification”, or import the data with a second text.",
            )
        yield from self.class_problems(columns, labels)
