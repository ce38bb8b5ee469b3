"""Which task suits the data, and what labels it brings."""

from app.pages.train.choices import Choices
from app.pages.train.goals import Goal
from engine.config.dataset import DatasetSpec
from engine.data.columns.fit import likely_task
from engine.data.columns.labels import CountedLabels


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
