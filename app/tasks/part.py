"""What every task gives to the window."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionView
from app.translation import in_language
from app.widgets.results.picture import ResultPicture
from engine.config.task import TaskSpec
from engine.config.tasks import TASKS

translate = QCoreApplication.translate


@dataclass(frozen=True)
class Plan:
    """What a run is going to do, for the sentence that says so before it starts.

    Args:
        model: the name of the base model, or the size of a new one.
        labels: how many the model will know; 0 where that is not known or there are none.
        trained: which weights are trained, as a phrase.
    """

    task: TaskSpec
    from_scratch: bool
    model: str
    data: str
    labels: int
    trained: str


class TaskPart(ABC):
    """One task in the window. A subclass stands in the file of its task."""

    kind: str
    view: type[PredictionView] | None = None  # of its predictions; None: it has no head of its own
    pictures: tuple[type[ResultPicture], ...] = ()  # of its results, the first one is shown first

    @property
    def title(self) -> str:
        """The task's name."""
        return in_language(TASKS[self.kind].info.title)

    def card_title(self, from_scratch: bool = False) -> str:
        """What stands on its card."""
        return self.title

    @abstractmethod
    def description(self, from_scratch: bool = False) -> str:
        """What it is for, in a sentence that everybody understands."""

    @abstractmethod
    def scene(self, from_scratch: bool = False) -> Scene:
        """The picture on its card."""

    @abstractmethod
    def outputs(self, count: int) -> str:
        """What the head of a fine-tuned model gives, where it has `count` labels."""

    def plan(self, plan: Plan) -> str:
        """What is going to be trained, in a sentence."""
        details = [self.outputs(plan.labels)] if plan.labels else []
        return translate("Tasks", "Fine-tune “{model}” on “{data}” ({details}).").format(
            model=plan.model, data=plan.data, details=", ".join([*details, plan.trained])
        )
