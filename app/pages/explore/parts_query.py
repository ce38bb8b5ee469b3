"""A question that is answered in parts."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput
from app.pages.explore.state import ExploreState
from engine.messages.question import PartAnswer, Question

QuestionKind = TypeVar("QuestionKind", bound=Question)
Part = TypeVar("Part", bound=PartAnswer)


class PartsQuery(QObject, Generic[QuestionKind, Part]):
    """Asks `make(side)`, then for the following parts, each from the `next` of the last one.

    `resume` returns the fields that the next question takes from the last part, besides `start`.

    Signals:
        changed: a part arrived, was refused, or is pending.
    """

    changed = Signal()

    def __init__(
        self,
        explore: ExploreState,
        explorer: Explorer,
        make: Callable[[ModelInput], QuestionKind | None],
        side: int = 0,
        resume: Callable[[Part], dict[str, Any]] = lambda part: {},
    ) -> None:
        super().__init__(explore)
        self.explore, self.side = explore, explore.both[side]
        self.question: QuestionKind | None = None  # first part of the current question
        self.parts: tuple[Part, ...] = ()  # answers to the current question, in order
        self.answer: Part | None = None  # the last part, also of an earlier question
        self.answered_question: QuestionKind | None = None  # first part of its question
        self.is_paused = False
        self._make, self._resume = make, resume
        self._update: dict[str, Any] = {}  # changes `question` to ask for the next part
        self.query = LiveQuery(explore, explorer, self._next_question, side)
        self.query.changed.connect(self._on_changed)

    @property
    def is_complete(self) -> bool:
        """True if all parts of the current question are known."""
        return bool(self.parts) and self.parts[-1].next is None and not self.query.is_waiting

    def _next_question(self, side: ModelInput) -> QuestionKind | None:
        question = self._make(side)
        if question != self.question:
            self.question, self.parts, self._update = question, (), {}
        if question is None or self.is_paused:
            return None
        return question.model_copy(update=self._update)

    def _on_changed(self) -> None:
        answer = self.query.answer
        if answer is None:
            self.answer = self.answered_question = None
        elif answer is not self.answer:
            part = cast("Part", answer)  # a question is answered by its own type
            self.answer, self.answered_question = part, self.question
            if self._make(self.side) == self.question:
                self._add(part)
                if self.query.is_waiting:
                    return  # it has emitted `changed`
        self.changed.emit()

    def _add(self, part: Part) -> None:
        self.parts += (part,)
        if part.next is not None:
            self._update = {"start": part.next, **self._resume(part)}
            if not self.is_paused:
                self.query.invalidate()  # immediately, or when it is visible again
