"""Learners: the tasks in torch, named as in `engine.config.tasks`."""

from importlib import import_module

from engine.checkpoints.heads import stored_task
from engine.checkpoints.prediction_settings import parse_settings
from engine.config.task import TaskSpec
from engine.config.tasks import class_name
from engine.models.checkpoint import Checkpoint
from engine.tasks.learner import Learner


def learner_for(task: TaskSpec) -> Learner:
    module = import_module(f"{__name__}.{task.kind}")
    learner: type[Learner] = getattr(module, f"{class_name(task.kind)}Learner")
    return learner(task)


def checkpoint_learner(checkpoint: Checkpoint) -> Learner | None:
    """Learner of the task that a checkpoint was fine-tuned for; None for other checkpoints.

    It predicts with the thresholds and the temperature stored in the checkpoint.
    """
    if not checkpoint.network.heads.outputs:
        return None
    learner = learner_for(task_in(checkpoint))
    learner.prediction = parse_settings(checkpoint.config)
    learner.fit_network(checkpoint.network)
    return learner


def task_in(checkpoint: Checkpoint) -> TaskSpec:
    """Task of a fine-tuned checkpoint: as stored by a run, or derived for an imported one."""
    return stored_task(checkpoint.config, checkpoint.network.heads.kind, checkpoint.labels)
