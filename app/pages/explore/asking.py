"""One kind of question about the study, asked while somebody looks, and its newest answer."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.study import Study
from engine.messages import Answer, AnyQuestion, Refused, Working


class Asking(QObject):
    """Asks `make(study)` whenever the study has settled, but only while its panel is seen.

    A late answer, to anything but the newest question, is passed over. What was answered before
    stays until the new answer is there, so that nothing flickers while somebody types; it goes with
    the model.

    Signals:
        changed: `answer`, `refusal` or `is_waiting` have changed.
    """

    changed = Signal()

    def __init__(
        self, study: Study, explorer: Explorer, make: Callable[[Study], AnyQuestion | None]
    ) -> None:
        super().__init__(study)
        self.answer: Answer | None = None
        self.refusal: Refused | None = None
        self.is_waiting = False
        self._study, self._explorer, self._make = study, explorer, make
        self._is_seen = False
        self._is_due = True
        self._latest = 0
        study.settled.connect(self._on_settled)
        study.model_changed.connect(self._on_model_changed)
        explorer.answered.connect(self._on_answer)

    def set_seen(self, seen: bool) -> None:
        """Whether the panel is on the screen; what was put off is asked now."""
        self._is_seen = seen
        if seen and self._is_due and self._study.is_settled:
            self.ask()

    def ask(self) -> None:
        """Ask about the study as it is now."""
        self._is_due = False
        question = self._make(self._study)
        self._latest = self._explorer.ask(question) if question is not None else 0
        self.is_waiting = question is not None
        if question is None:
            self.answer = self.refusal = None
        self.changed.emit()

    def _on_settled(self) -> None:
        self._is_due = True
        if self._is_seen:
            self.ask()

    def _on_model_changed(self) -> None:
        self.answer, self.refusal, self.is_waiting = None, None, False
        self._latest = 0
        self._is_due = True
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        is_newest = answer.to == self._latest and self.is_waiting
        if not is_newest or isinstance(answer, Working):
            return
        self.is_waiting = False
        if isinstance(answer, Refused):
            self.answer, self.refusal = None, answer
        else:
            self.answer, self.refusal = answer, None
        self.changed.emit()
