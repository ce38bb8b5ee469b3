"""The table of tasks. Each has a file in `engine.tasks`, `engine.evaluation`, `app.tasks`, too."""

import math
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated

from pydantic import BeforeValidator, SerializeAsAny

from engine.config.task import Head, Metric, TaskSpec, score_text


def class_name(kind: str) -> str:
    """The prefix of a task's classes: TextClassification for text_classification."""
    return "".join(word.capitalize() for word in kind.split("_"))


def _load_task(kind: str) -> type[TaskSpec]:
    spec: type[TaskSpec] = getattr(import_module(f"{__name__}.{kind}"), class_name(kind))
    return spec


# In the order in which they are offered, and tried for a data set: a task that needs more columns
# or labels comes before one that would also accept them.
TASKS: dict[str, type[TaskSpec]] = {
    kind: _load_task(kind)
    for kind in (
        "text_classification",
        "pair_classification",
        "multi_label",
        "ordinal_classification",
        "hierarchical_classification",
        "regression",
        "token_classification",
        "span_classification",
        "question_answering",
        "multiple_choice",
        "sentence_similarity",
        "pretraining",
    )
}


FIRST_TASK = next(iter(TASKS))
"""The task that is offered first."""
PRETRAINING = next(kind for kind, task in TASKS.items() if task.info.is_pretraining)


def parse_task(given: object) -> TaskSpec:
    """The task of a job or a checkpoint. Raises ValueError if it is unknown or invalid."""
    if isinstance(given, TaskSpec):
        return given
    kind = given.get("kind") if isinstance(given, Mapping) else given
    if not isinstance(kind, str) or kind not in TASKS:
        raise ValueError(f"there is no task {kind!r}; the tasks are {', '.join(TASKS)}")
    return TASKS[kind].model_validate(given if isinstance(given, Mapping) else {"kind": kind})


AnyTask = Annotated[SerializeAsAny[TaskSpec], BeforeValidator(parse_task)]
"""A field for any task of the table."""


def get_head(kind: str) -> Head:
    """The layer that fine-tuning for a task adds."""
    head = TASKS[kind].info.head
    assert head is not None
    return head


def heads() -> Iterator[tuple[str, Head]]:
    """Yield the tasks that have a head, with it."""
    for kind, task in TASKS.items():
        if task.info.head is not None:
            yield kind, task.info.head


def added_layers() -> Iterator[tuple[str, Head]]:
    """The tasks whose head is a layer with weights, unlike pooling."""
    return ((kind, head) for kind, head in heads() if not head.pools)


ORDINAL = next(kind for kind, head in heads() if head.is_ordinal)
"""The task of ordered labels."""
MULTI_LABEL = next(kind for kind, head in heads() if head.is_multi_label)
"""The task of any number of labels."""
HIERARCHICAL = next(kind for kind, task in TASKS.items() if task.info.has_levels)
"""The task of labels that are paths."""
POOLING = next(kind for kind, head in heads() if head.pools)
"""The task of all models that pool."""


def get_metric(name: str) -> Metric | None:
    """The metric of this name, from any task; on validation rows if it begins so."""
    name = name.removeprefix("validation_")
    metrics = (metric for task in TASKS.values() for metric in task.info.metrics)
    return next((metric for metric in metrics if metric.name == name), None)


def metric_text(name: str, value: float, sign: str = "") -> str:
    """A value of a metric, with or without “validation_”, in documents and in the terminal."""
    metric = get_metric(name)
    return score_text(value, metric is not None and metric.unit == "share", sign)


def metric_limits(name: str) -> tuple[float, float]:
    """The lowest and highest possible value of a metric; infinite if it is unknown."""
    metric = get_metric(name)
    return (-math.inf, math.inf) if metric is None else metric.limits
