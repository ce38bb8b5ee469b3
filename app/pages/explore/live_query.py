"""A question about the inputs that is asked while its panel is visible."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.model_input import ModelInput
from app.pages.explore.state import ExploreState
from engine.messages.explore.text import PreciseAnswer, PreciseQuestion
from engine.messages.question import Answer, Question, Refused, Working

AnswerKind = TypeVar("AnswerKind", bound=Answer)


class LiveQuery(QObject):
    """Asks `make(side)` when the inputs have settled and the panel is visible.

    The query of the second side asks nothing without a comparison. A question is not repeated while
    it is pending or answered; late answers are ignored. The last answer stays until the next one,
    so that typing does not flicker; it is dropped with the model.

    Signals:
        changed: `answer`, `refusal` or `is_waiting` changed.
        asked: a new question was asked, or the last one was dropped.
    """

    changed = Signal()
    asked = Signal()

    def __init__(
        self,
        explore: ExploreState,
        explorer: Explorer,
        make: Callable[[ModelInput], Question | None],
        side: int = 0,
    ) -> None:
        super().__init__(explore)
        self.answer: Answer | None = None
        self.refusal: Refused | None = None
        self.is_waiting = False
        self.side = explore.both[side]
        self._explore, self._explorer, self._make = explore, explorer, make
        self._question: Question | None = None
        self._is_active = False
        self._is_due = True
        self._latest = 0
        explore.settled.connect(self.invalidate)
        self.side.model_changed.connect(self._on_model_changed)
        explorer.answered.connect(self._on_answer)

    @property
    def problem(self) -> str:
        """Why there is no answer, or “”."""
        return self.refusal.phrase if self.refusal is not None else ""

    def get_answer(self, kind: type[AnswerKind]) -> AnswerKind | None:
        return self.answer if isinstance(self.answer, kind) else None

    def set_active(self, active: bool) -> None:
        """Set if the panel is visible; asks the pending question."""
        self._is_active = active
        if self._is_due:
            self._ask_if_due()

    def invalidate(self) -> None:
        """Ask again when the inputs are settled and the panel is visible."""
        self._is_due = True
        self._ask_if_due()

    def ask(self) -> None:
        """Ask now, visible or not."""
        self._ask(self._make_question())

    def require_exact(self) -> bool:
        """True if the answer is exact; otherwise asks for the exact one."""
        answer, question = self.answer, self._question
        if not isinstance(answer, PreciseAnswer) or answer.computed == "float32":
            return True
        if isinstance(question, PreciseQuestion) and not question.exact:
            self._ask(question.model_copy(update={"exact": True}))
        return False

    def _ask_if_due(self) -> None:
        if not (self._is_active and self._explore.is_settled):
            return
        question = self._make_question()
        if question != self._question or not (self.is_waiting or self.answer is not None):
            self._ask(question)
        self._is_due = False

    def _make_question(self) -> Question | None:
        question = self._make(self.side) if self.side.is_tokenized else None
        if question is None:
            return None
        return question.model_copy(update={"side": self.side.index})

    def _ask(self, question: Question | None) -> None:
        self._is_due, self._question = False, question
        self._latest = self._explorer.ask(question) if question is not None else 0
        self.is_waiting = question is not None
        if question is None:
            self.answer = self.refusal = None
        self.asked.emit()
        self.changed.emit()

    def _on_model_changed(self) -> None:
        self.answer, self.refusal, self.is_waiting = None, None, False
        self._latest, self._question = 0, None
        self._is_due = True
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._latest or not self.is_waiting or isinstance(answer, Working):
            return
        self.is_waiting = not answer.is_final  # partial results are shown meanwhile
        if isinstance(answer, Refused):
            self.answer, self.refusal = None, answer
        else:
            self.answer, self.refusal = answer, None
        self.changed.emit()


class QueryPair(QObject):
    """The same question for both sides.

    Signals:
        changed: the query of either side changed.
    """

    changed = Signal()

    def __init__(
        self,
        explore: ExploreState,
        explorer: Explorer,
        make: Callable[[ModelInput], Question | None],
    ) -> None:
        super().__init__(explore)
        self._sides = tuple(LiveQuery(explore, explorer, make, side) for side in (0, 1))
        for query in self._sides:
            query.changed.connect(self.changed)

    def __getitem__(self, side: int) -> LiveQuery:
        return self._sides[side]

    def __iter__(self) -> Iterator[LiveQuery]:
        return iter(self._sides)

    def set_active(self, active: bool, side: int | None = None) -> None:
        """Set if the panel is visible; only `side` asks, if given."""
        for query in self._sides:
            query.set_active(active and side in (None, query.side.index))

    def invalidate(self) -> None:
        for query in self._sides:
            query.invalidate()
