"""One path of a hierarchy of labels, such as “A > B > C”, for a text or a pair."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from engine.config.dataset import Mapping as Columns
from engine.config.levels import SEPARATORS, find_separator
from engine.config.task import ACCURACY, F1_MACRO, LOSS, LabelColumn, Metric, TaskInfo, shorten
from engine.config.tasks.text_classification import CLASSIFIER, ClassTask
from engine.errors import StudioError

F1_HIERARCHICAL = Metric(
    "hierarchical_f1",
    title="hierarchical F1",
    short="hF1",
    description=(
        "The harmonic mean of hierarchical precision and recall: of paths that share their upper "
        "levels, these count as right (Kiritchenko et al. 2006)."
    ),
)
PRECISION = Metric(
    "hierarchical_precision",
    title="hierarchical precision",
    description="The fraction of the levels of predicted paths that the true paths share.",
)
RECALL = Metric(
    "hierarchical_recall",
    title="hierarchical recall",
    description="The fraction of the levels of true paths that the predicted paths share.",
)


class HierarchicalClassification(ClassTask):
    """One path of a hierarchy of labels, such as “A > B > C”, for a text or a pair."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Hierarchical classification",
        head=CLASSIFIER,
        metrics=(F1_HIERARCHICAL, PRECISION, RECALL, ACCURACY, F1_MACRO, LOSS),
        best_metric="hierarchical_f1",
        reads=("text", "label"),
        may_read=("pair",),
        required_cells=("text", "pair"),
        labelled_by=("label",),
        hub_pipeline="text-classification",
        row_figures=("probability", "margin"),
        has_levels=True,
    )
    kind: Literal["hierarchical_classification"] = "hierarchical_classification"

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return False  # the user decides if levels matter

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        yield from self.class_problems(columns, labels)
        names = [name for name in labels.cells if name] if labels is not None else []
        if columns.label is None or len(names) < 2 or find_separator(self.labels or names):
            return
        yield StudioError(
            "The labels are no paths of a hierarchy: {names}.",
            "Separate the levels by one of {signs}, as in “A > B > C”, or choose text "
            "classification. Columns with a level each are joined at the import.",
            names=", ".join(f"“{shorten(name)}”" for name in names[:5]),
            signs=" ".join(SEPARATORS),
        )
