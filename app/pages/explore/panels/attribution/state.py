"""Request word effects in several parts."""

from typing import Any

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.panels.attribution.choice import Choice
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from engine.messages.explore.attribution import Attribute, Attributed


class AttributionState(QObject):
    """Attributions of one side; partial results are shown while the rest is computed.

    Signals:
        changed: the answer, the reason for none, or whether one is pending.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer, choice: Choice, side: int = 0) -> None:
        super().__init__(study)
        self.study, self.side, self.choice = study, study.both[side], choice
        self.answer: Attributed | None = None
        # first part of the question that `answer` belongs to
        self.answered: Attribute | None = None
        self.asked: Attribute | None = None  # first part of the current question
        self._part: dict[str, Any] = {}  # offset of the next part
        self._taken: Attributed | None = None
        self.query = LiveQuery(study, explorer, self._question, side)
        self.query.changed.connect(self._on_changed)
        choice.changed.connect(self.query.renew)
        study.picked_changed.connect(lambda _: self.query.renew())

    @property
    def problem(self) -> str:
        """The reason for no effects, or “”."""
        refusal = self.query.refusal
        return refusal.phrase if refusal is not None else ""

    @property
    def is_complete(self) -> bool:
        """True if the answer is complete and belongs to the current question."""
        answer = self.answer
        is_whole = answer is not None and answer.next is None and not self.query.is_waiting
        return is_whole and self.answered == self.asked

    @property
    def largest(self) -> float:
        """The effect with the strongest tint; 0 if there is none."""
        words = self.answer.words if self.answer is not None else ()
        largest = max((abs(word.effect) for word in words), default=0.0)
        return self.study.held(f"attributions {self.choice.method}", largest)

    def _question(self, side: Side) -> Attribute | None:
        target = self.choice.target(side)
        asked = None
        if target is not None:
            asked = side.asked(
                Attribute, method=self.choice.method, baseline=self.choice.baseline, **target
            )
        if asked != self.asked:
            self.asked, self._part = asked, {}
        return asked.model_copy(update=self._part) if asked is not None else None

    def _on_changed(self) -> None:
        answer = self.query.answer
        if answer is None:
            self.answer = self.answered = None
        elif isinstance(answer, Attributed) and answer is not self._taken:
            self._taken = self.answer = answer
            self.answered = self.asked
            self._continue(answer)
        self.changed.emit()

    def _continue(self, answer: Attributed) -> None:
        if answer.next is None or self.query.is_waiting:
            return
        so_far = answer.effects or tuple(word.effect for word in answer.words)
        self._part = {"start": answer.next, "so_far": so_far}
        if answer.effects:
            self._part["points"] = answer.points
        self.query.renew()
