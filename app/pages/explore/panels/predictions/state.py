"""Predictions of a fine-tuned model."""

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput, clean_text
from app.pages.explore.state import ExploreState
from app.tasks import view_class
from engine.config.tasks import head_of
from engine.messages.explore.occlusion import Occlude, Occluded, WordEffect
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


class DecidingState(QObject):
    """Word effects on the chosen class, requested in several parts.

    Signals:
        changed: the words, the class, or the reason for none.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer, side: int = 0) -> None:
        super().__init__(explore)
        self.explore, self.side = explore, explore.both[side]
        self.words: tuple[WordEffect, ...] = ()
        self.left = 0  # words still unknown
        self.explained = ""  # the class that the words support
        self._base_question: Occlude | None = None  # the question from its first word on
        self._start = 0
        self.query = LiveQuery(explore, explorer, self._question, side)
        self.query.changed.connect(self._on_changed)
        explore.label_changed.connect(self.query.invalidate)

    @property
    def label(self) -> str | None:
        """The class to explain; “” (the prediction) if the model lacks the chosen one."""
        chosen = self.explore.label
        return chosen if chosen is None or chosen in self.side.labels else ""

    def _question(self, side: ModelInput) -> Occlude | None:
        label = self.label
        if label is None or side.task is None or not is_explained(side.task):
            self._base_question = None
            return None
        question = side.question(Occlude, label=label)
        if question != self._base_question:
            self._base_question, self._start = question, 0
        return question.model_copy(update={"start": self._start}) if question is not None else None

    def _on_changed(self) -> None:
        answer = self.query.answer
        if answer is None:
            self.words, self.left = (), 0
        elif isinstance(answer, Occluded) and not self.query.is_waiting:
            before = self.words[: self._start]
            self.words, self.explained = (*before, *answer.words), answer.label
            self.left = answer.total - len(self.words)
            if answer.next is not None and answer.next != self._start:
                self._start = answer.next
                self.query.ask()
        self.changed.emit()


def is_explained(task: str) -> bool:
    """True if the task gives the whole text one score, which words can influence."""
    head = head_of(task)
    return not head.reads_tokens and not head.pools and not view_class(task).asks_for_choices
