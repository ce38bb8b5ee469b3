"""Which data fits which task, and what labels it brings."""

from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import Choices
from app.pages.train.goals import Goal
from engine.data.columns.fit import likely_task, problems_of
from engine.data.columns.labels import CountedLabels
from engine.errors import StudioError
from engine.spec.dataset import DatasetSpec
from engine.spec.task import TaskSpec

translate = QCoreApplication.translate


def misfits(spec: DatasetSpec, task: TaskSpec) -> list[StudioError]:
    """Everything that keeps this data set from this task; empty where it fits."""
    found = problems_of(spec.columns, spec.mapping, task, spec.labels or None)
    if not spec.rows.get("train"):
        found.append(
            StudioError(
                translate("Train", "It has no training rows."),
                translate("Train", "Import it again with another split."),
            )
        )
    return found


def likely_goal(spec: DatasetSpec) -> Goal:
    """What these rows are most likely for, from a base model."""
    return Goal(likely_task(spec.mapping, spec.labels).kind)


def label_rows(choices: Choices) -> dict[str, int]:
    """How many rows have each label that is to be learned; empty where it is not known yet."""
    spec = choices.data.spec if choices.data else None
    return choices.task.label_rows(spec, CountedLabels(spec.labels)) if spec else {}


def label_names(choices: Choices) -> tuple[str, ...]:
    """The labels that the task will have; empty where they are not known yet.

    Of tags they are the types of the spans, and O.
    """
    spec = choices.data.spec if choices.data else None
    return choices.task.label_names(spec, CountedLabels(spec.labels if spec else {}))
