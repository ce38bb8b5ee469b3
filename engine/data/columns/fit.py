"""Whether a data set and a task fit together, by the columns and the labels that were counted."""

from collections.abc import Mapping as Counts

from engine.data.columns.labels import CountedLabels
from engine.errors import MissingColumn, StudioError
from engine.spec.dataset import Mapping
from engine.spec.task import TaskSpec
from engine.spec.tasks import TASKS


def problems_of(
    columns: tuple[str, ...],
    mapping: Mapping,
    task: TaskSpec,
    labels: Counts[str, int] | None = None,
) -> list[StudioError]:
    """Everything that keeps this data from this task; `labels` None means not yet counted."""
    missing = [
        MissingColumn(name, list(columns)) for name in mapping.columns if name not in columns
    ]
    counted = None if labels is None else CountedLabels(labels)
    return [*missing, *task.problems(mapping, counted)]


def likely_task(mapping: Mapping, labels: Counts[str, int] | None = None) -> TaskSpec:
    """What rows with these columns are most likely for: the first task that they suit."""
    counted = CountedLabels(labels) if labels else None
    found = next(kind for kind, task in TASKS.items() if task.suits(mapping, counted))
    return TASKS[found](kind=found)
