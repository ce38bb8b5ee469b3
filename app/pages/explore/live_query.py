"""One kind of question about the study, asked while somebody looks, and its newest answer."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from engine.messages.answers import Answer, Refused, Working
from engine.messages.questions import AnyQuestion, Fill, Predict


class LiveQuery(QObject):
    """Asks `make(side)` whenever the study has settled, but only while its panel is seen.

    A panel that compares has one for each side; that of the second asks nothing while there is
    none. What was asked already is not asked again. A late answer, to anything but the newest
    question, is passed over. What was answered before stays until the new answer is there, so that
    nothing flickers while somebody types; it goes with the model.

    Signals:
        changed: `answer`, `refusal` or `is_waiting` have changed.
    """

    changed = Signal()

    def __init__(
        self,
        study: Study,
        explorer: Explorer,
        make: Callable[[Side], AnyQuestion | None],
        side: int = 0,
    ) -> None:
        super().__init__(study)
        self.answer: Answer | None = None
        self.refusal: Refused | None = None
        self.is_waiting = False
        self.side = study.both[side]
        self._study, self._explorer, self._make = study, explorer, make
        self._asked: AnyQuestion | None = None
        self._is_seen = False
        self._is_due = True
        self._latest = 0
        study.settled.connect(self._on_settled)
        self.side.model_changed.connect(self._on_model_changed)
        explorer.answered.connect(self._on_answer)

    def set_seen(self, seen: bool) -> None:
        """Whether the panel is on the screen; what was put off is asked now."""
        self._is_seen = seen
        if seen and self._is_due and self._study.is_settled:
            self._ask_if_new()

    def ask(self) -> None:
        """Ask about the study as it is now."""
        self._ask(self._question())

    def renew(self) -> None:
        """Something besides the study has changed: ask now if it is seen, or else once it is."""
        self._is_due = True
        if self._is_seen and self._study.is_settled:
            self._ask_if_new()

    def _question(self) -> AnyQuestion | None:
        question = self._make(self.side) if self.side.is_known else None
        if question is None:
            return None
        asked = {"side": self.side.number}
        if isinstance(question, Fill | Predict):  # what else is asked is exact
            asked["exact"] = self._study.is_exact
        return question.model_copy(update=asked)

    def _ask(self, question: AnyQuestion | None) -> None:
        self._is_due, self._asked = False, question
        self._latest = self._explorer.ask(question) if question is not None else 0
        self.is_waiting = question is not None
        if question is None:
            self.answer = self.refusal = None
        self.changed.emit()

    def _on_settled(self) -> None:
        self._is_due = True
        if self._is_seen:
            self._ask_if_new()

    def _ask_if_new(self) -> None:
        question = self._question()
        is_new = question != self._asked or not (self.is_waiting or self.answer is not None)
        if is_new:
            self._ask(question)
        self._is_due = False

    def _on_model_changed(self) -> None:
        self.answer, self.refusal, self.is_waiting = None, None, False
        self._latest, self._asked = 0, None
        self._is_due = True
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._latest or not self.is_waiting:
            return
        if isinstance(answer, Working):
            if answer.so_far is not None:  # more is to come; this can be shown already
                self.answer, self.refusal = answer.so_far, None
                self.changed.emit()
            return
        self.is_waiting = False
        if isinstance(answer, Refused):
            self.answer, self.refusal = None, answer
        else:
            self.answer, self.refusal = answer, None
        self.changed.emit()
