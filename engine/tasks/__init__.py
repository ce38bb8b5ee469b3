"""What is learned: the table from a task's spec to its learner."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from engine.models.checkpoint import TASK, Checkpoint
from engine.spec.task import HeadKind, TaskSpec
from engine.spec.tasks.multi_label import MultiLabel
from engine.spec.tasks.multiple_choice import MultipleChoice
from engine.spec.tasks.pretraining import Pretraining
from engine.spec.tasks.question_answering import QuestionAnswering
from engine.spec.tasks.regression import Regression
from engine.spec.tasks.text_classification import TextClassification
from engine.spec.tasks.token_classification import TokenClassification
from engine.tasks.learner import Learner
from engine.tasks.multi_label import MultiLabelLearner
from engine.tasks.multiple_choice import MultipleChoiceLearner
from engine.tasks.pretraining import PretrainingLearner
from engine.tasks.question_answering import QuestionAnsweringLearner
from engine.tasks.regression import RegressionLearner
from engine.tasks.text_classification import TextClassificationLearner
from engine.tasks.token_classification import TokenClassificationLearner

LEARNERS: dict[type[TaskSpec], Callable[[Any], Learner]] = {
    Pretraining: PretrainingLearner,
    TextClassification: TextClassificationLearner,
    TokenClassification: TokenClassificationLearner,
    MultiLabel: MultiLabelLearner,
    Regression: RegressionLearner,
    MultipleChoice: MultipleChoiceLearner,
    QuestionAnswering: QuestionAnsweringLearner,
}
TASKS: dict[HeadKind, Callable[[Checkpoint], TaskSpec]] = {  # what a task head was made for
    "classes": lambda given: TextClassification(labels=given.labels),
    "tags": lambda given: TokenClassification(labels=given.labels),
    "labels": lambda given: MultiLabel(labels=given.labels),
    "number": lambda given: task(given, Regression()),
    "choices": lambda given: MultipleChoice(),
    "answer": lambda given: task(given, QuestionAnswering(unanswerable=True)),
}


def task(given: Checkpoint, otherwise: TaskSpec) -> TaskSpec:
    """The task as our checkpoint keeps it, or another of the same kind for a foreign one."""
    entry = given.config.get(TASK)
    try:
        found = type(otherwise).model_validate(entry)
    except ValidationError:
        return otherwise
    return found


def learner_for(task: TaskSpec) -> Learner:
    """The learner of a task's kind, made from its spec."""
    return LEARNERS[type(task)](task)


def learner_of(given: Checkpoint) -> Learner | None:
    """The learner of the task that a checkpoint was fine-tuned for; None where it was not."""
    heads = given.network.heads
    return learner_for(TASKS[heads.kind](given)) if heads.outputs else None
