"""engine/config/tasks/mood.py: the mood of a text, compared by the error rate."""

from typing import ClassVar, Literal

from engine.config.task import LOSS, Metric, TaskInfo
from engine.config.tasks.text_classification import CLASSIFIER, ClassTask


class Mood(ClassTask):
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Mood of a text",
        head=CLASSIFIER,
        metrics=(
            Metric(
                "errors", title="error rate", higher_is_better=False, description="Errors per row."
            ),
            LOSS,
        ),
        best_metric="errors",
        reads=("text", "label"),
    )
    kind: Literal["mood"] = "mood"
