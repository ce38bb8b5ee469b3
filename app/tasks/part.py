"""Base of the tasks in the window."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionView
from app.translation import in_language, tr
from app.widgets.results.picture import ResultPicture
from engine.config.task import TaskSpec
from engine.config.tasks import TASKS


@dataclass(frozen=True)
class Plan:
    """A planned run, for the sentence that describes it.

    Args:
        model: the name of the base model, or the size of a new one.
        labels: number of labels; 0 if unknown or none.
        trained: the trained weights, as a phrase.
    """

    task: TaskSpec
    from_scratch: bool
    model: str
    data: str
    labels: int
    trained: str


class TaskPart(ABC):
    """One task in the window; its subclass is in the file of the task."""

    kind: str
    purpose: str  # in one sentence
    scene: Scene  # the picture on its card
    view: type[PredictionView] | None = None  # shows its predictions; None if it has no head
    pictures: tuple[type[ResultPicture], ...] = ()  # show its results; the first is the default

    @property
    def title(self) -> str:
        return in_language(TASKS[self.kind].info.title)

    def card_title(self, from_scratch: bool = False) -> str:
        return self.title

    def description(self, from_scratch: bool = False) -> str:
        """Text of its card."""
        return in_language(self.purpose)

    @abstractmethod
    def outputs(self, count: int) -> str:
        """Output of the head of a fine-tuned model with `count` labels."""

    def describe_plan(self, plan: Plan) -> str:
        """Describe the planned training in a sentence."""
        details = [self.outputs(plan.labels)] if plan.labels else []
        return tr("Fine-tune “{model}” on “{data}” ({details}).").format(
            model=plan.model, data=plan.data, details=", ".join([*details, plan.trained])
        )
