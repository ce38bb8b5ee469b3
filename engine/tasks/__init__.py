"""The learners: each task in torch, found by its name in `engine.config.tasks`."""

from importlib import import_module

from engine.checkpoints.heads import kept_task
from engine.checkpoints.prediction_settings import settings_in
from engine.config.task import TaskSpec
from engine.config.tasks import class_name
from engine.models.checkpoint import Checkpoint
from engine.tasks.learner import Learner


def learner_for(task: TaskSpec) -> Learner:
    module = import_module(f"{__name__}.{task.kind}")
    learner: type[Learner] = getattr(module, f"{class_name(task.kind)}Learner")
    return learner(task)


def learner_of(given: Checkpoint) -> Learner | None:
    """The learner of the task that a checkpoint was fine-tuned for; None for other checkpoints.

    It predicts with the thresholds and the temperature stored in the checkpoint.
    """
    if not given.network.heads.outputs:
        return None
    learner = learner_for(task_in(given))
    learner.prediction = settings_in(given.config)
    learner.fit_network(given.network)
    return learner


def task_in(given: Checkpoint) -> TaskSpec:
    """The task of a fine-tuned checkpoint: as stored by a run, or derived for a foreign one."""
    return kept_task(given.config, given.network.heads.kind, given.labels)
