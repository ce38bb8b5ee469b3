"""What is learned: the table from a task's spec to its learner."""

from collections.abc import Callable
from typing import Any

from engine.models.checkpoint import Checkpoint
from engine.spec.task import Classification, HeadKind, Pretraining, TaskSpec
from engine.tasks.classification import ClassificationLearner
from engine.tasks.learner import Learner
from engine.tasks.pretraining import PretrainingLearner

LEARNERS: dict[type[TaskSpec], Callable[[Any], Learner]] = {
    Pretraining: PretrainingLearner,
    Classification: ClassificationLearner,
}
TASKS: dict[HeadKind, Callable[[Checkpoint], TaskSpec]] = {  # what a task head was made for
    "classes": lambda given: Classification(labels=given.labels),
}


def learner_for(task: TaskSpec) -> Learner:
    """The learner of a task's kind, made from its spec."""
    return LEARNERS[type(task)](task)


def learner_of(given: Checkpoint) -> Learner | None:
    """The learner of the task that a checkpoint was fine-tuned for; None where it was not."""
    heads = given.network.heads
    return learner_for(TASKS[heads.kind](given)) if heads.outputs else None
