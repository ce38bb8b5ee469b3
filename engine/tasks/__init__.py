"""What is learned: the table from a task's spec to its learner."""

from collections.abc import Callable
from typing import Any

from engine.spec.task import Classification, Pretraining, TaskSpec
from engine.tasks.classification import ClassificationLearner
from engine.tasks.learner import Learner
from engine.tasks.pretraining import PretrainingLearner

LEARNERS: dict[type[TaskSpec], Callable[[Any], Learner]] = {
    Pretraining: PretrainingLearner,
    Classification: ClassificationLearner,
}


def learner_for(task: TaskSpec) -> Learner:
    """The learner of a task's kind, made from its spec."""
    return LEARNERS[type(task)](task)
