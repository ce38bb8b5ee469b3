"""What a person can want of a training: the cards of the first step."""

from dataclasses import dataclass

from app.tasks import part_of
from engine.config.task import TaskSpec
from engine.config.tasks import TASKS


@dataclass(frozen=True)
class Goal:
    """What a person wants: a task, from a base model or from scratch. A card of the first step."""

    kind: str
    from_scratch: bool = False

    @property
    def task(self) -> TaskSpec:
        """The task with its usual settings."""
        return TASKS[self.kind](kind=self.kind)

    @property
    def is_pretraining(self) -> bool:
        return self.task.is_pretraining

    @property
    def title(self) -> str:
        """What stands on its card."""
        return part_of(self.kind).card_title(self.from_scratch)


def goals() -> list[Goal]:
    """All cards in their order."""
    found = []
    for kind, task in TASKS.items():
        found.append(Goal(kind))
        if task.info.from_scratch is not None:
            found.append(Goal(kind, from_scratch=True))
    return found


def first_goal(pretrains: bool, from_scratch: bool = False) -> Goal:
    """The first card for pre-training, or for fine-tuning."""
    return next(
        goal
        for goal in goals()
        if (goal.is_pretraining, goal.from_scratch) == (pretrains, from_scratch)
    )
