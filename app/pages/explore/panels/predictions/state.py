"""Predictions of a fine-tuned model."""

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput, clean_text
from app.pages.explore.state import ExploreState
from app.tasks import view_class
from engine.config.tasks import head_of
from engine.messages.explore.prediction import Predict, Predicted


class PredictionsState(QObject):
    """The prediction of one side.

    Signals:
        changed: the answer, the reason for none, or whether one is pending.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer, side: int = 0) -> None:
        super().__init__(explore)
        self.explore, self.side = explore, explore.both[side]
        self.endings = _clean(explore.choices)  # for multiple choice
        self.query = LiveQuery(explore, explorer, self._question, side)
        self.query.changed.connect(self.changed)
        explore.choices_changed.connect(lambda: self.set_endings(explore.choices))

    @property
    def answer(self) -> Predicted | None:
        return self.query.answer_of(Predicted)

    @property
    def waits(self) -> bool:
        """True while an answer or the first question is pending."""
        return self.query.is_waiting or not self.explore.is_settled

    def set_endings(self, endings: tuple[str, ...]) -> None:
        """Set the choices; lone surrogates, which JSON cannot hold, are replaced."""
        clean = _clean(endings)
        if clean != self.endings:
            self.endings = clean
            self.query.ask()

    @property
    def lacks_choices(self) -> bool:
        """True if nothing is asked because fewer than two choices were typed."""
        task = self.side.task
        return task is not None and self._needs_choices(task) and not self.waits

    def _needs_choices(self, task: str) -> bool:
        return view_class(task).asks_for_choices and len(self.endings) < 2

    def _question(self, side: ModelInput) -> Predict | None:
        if side.task is None or self._needs_choices(side.task):
            return None
        return side.question(Predict, endings=self.endings, exact=self.explore.is_exact)


def _clean(endings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(clean_text(ending) for ending in endings)


def explained_label(explore: ExploreState, side: ModelInput) -> str | None:
    """The class to explain; “” (the prediction) if the model lacks the chosen one."""
    return explore.label if explore.label is None or explore.label in side.labels else ""


def is_explained(task: str) -> bool:
    """True if the task gives the whole text one score, which words can influence."""
    head = head_of(task)
    return not head.reads_tokens and not head.pools and not view_class(task).asks_for_choices
