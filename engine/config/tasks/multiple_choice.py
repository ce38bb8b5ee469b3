"""Multiple choice (Devlin et al. 2019, §4.4)."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.task import (
    ACCURACY,
    CHOICES,
    LOSS,
    Head,
    LabelColumn,
    TaskInfo,
    TaskSpec,
    target,
)
from engine.config.training import TrainingSpec
from engine.errors import StudioError


class MultipleChoice(TaskSpec):
    """Multiple choice."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Multiple choice",
        head=Head(CHOICES, tensors=(Output(name="logits", of="input", meaning="one"),), outputs=1),
        metrics=(ACCURACY, LOSS),
        best_metric="accuracy",
        reads=("text", "endings", "label"),
        may_read=("beginning",),
        required_cells=("text", "endings"),
        labelled_by=("label",),
        training=TrainingSpec(batch_size=16, learning_rate=2e-5),
        hub_pipeline="multiple-choice",
        row_figures=("probability", "margin"),
    )
    kind: Literal["multiple_choice"] = "multiple_choice"

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        return target(columns) == "endings"

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if not columns.endings:
            yield StudioError(
                "Multiple choice needs the choices of each row.",
                "Choose the columns that hold them, or the one that holds a list of them.",
            )
        if columns.label is None:
            yield StudioError(
                "Multiple choice needs the correct choice of each row.",
                "Choose the column that holds the number, the letter or the text of the "
                "correct choice.",
            )
