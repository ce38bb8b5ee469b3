"""Compatibility of base models and tasks, beyond what the path of a checkpoint shows."""

from engine.config.families.family import Family
from engine.config.task import TaskSpec
from engine.errors import BadCheckpoint, StudioError


def direction_error(task: TaskSpec, name: str, causal: bool) -> StudioError | None:
    """The error if the task cannot use the base model `name`, which is `causal` or not."""
    if task.causal in (None, causal):
        return None
    if causal:
        return StudioError(
            "{name} is a causal (left-to-right) model, and masked language modelling (MLM) "
            "needs a bidirectional one.",
            "Set the objective to CLM, or choose another base model.",
            name=name,
        )
    return StudioError(
        "{name} is bidirectional: with causal language modelling (CLM) it would see each token "
        "that it has to predict.",
        "Choose a causal base model, or train from scratch.",
        name=name,
    )


def nsp_head_error(needs_nsp: bool, family: Family) -> BadCheckpoint | None:
    """The error if the NSP head is needed and the family has none."""
    if not needs_nsp or family.has_nsp_head:
        return None
    return BadCheckpoint(
        "{family} has no head for next-sentence prediction (NSP).",
        "Turn NSP off, or choose a BERT as the base model.",
        family=family.title,
    )
