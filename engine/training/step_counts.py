"""How many steps a run takes, and after how many it is evaluated and saved."""

import math

from engine.config.training import TrainingSpec


def planned_steps(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """How many updates a run makes."""
    return settings.steps or max(1, math.ceil(settings.epochs * steps_per_epoch))


def planned_evaluations(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """How often it is evaluated on the validation set."""
    steps = planned_steps(settings, steps_per_epoch)
    return math.ceil(steps / evaluation_interval(settings, steps_per_epoch))


def first_long_step(steps: int, fraction: float) -> int:
    """From which step on the inputs are long, where a fraction of the steps, the last, has such."""
    return steps - round(fraction * steps)


def evaluation_interval(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between two evaluations: an epoch, or less so that a run has four of them."""
    steps = planned_steps(settings, steps_per_epoch)
    return settings.evaluate_every or max(1, min(steps_per_epoch, math.ceil(steps / 4)))


def save_interval(settings: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between two checkpoints."""
    return settings.save_every or evaluation_interval(settings, steps_per_epoch)
