"""Asks for the effects of the words, a part at a time."""

from typing import Any

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.panels.attribution.choice import Choice
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from engine.messages.explore.attribution import Attribute, Attributed


class AttributionState(QObject):
    """One side. What is known so far is shown while the rest is computed.

    Signals:
        changed: the answer, why there is none, or whether one is awaited.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer, choice: Choice, side: int = 0) -> None:
        super().__init__(study)
        self.study, self.side, self.choice = study, study.both[side], choice
        self.answer: Attributed | None = None
        self.answered: Attribute | None = None  # what it is the answer to, from the first part on
        self.asked: Attribute | None = None  # likewise of what is asked now
        self._part: dict[str, Any] = {}  # where it is continued
        self._taken: Attributed | None = None
        self.query = LiveQuery(study, explorer, self._question, side)
        self.query.changed.connect(self._on_changed)
        choice.changed.connect(self.query.renew)
        study.picked_changed.connect(lambda _: self.query.renew())

    @property
    def problem(self) -> str:
        """Why there are no effects."""
        refusal = self.query.refusal
        return refusal.phrase if refusal is not None else ""

    @property
    def is_complete(self) -> bool:
        """Whether the answer is whole, and to what is asked now."""
        answer = self.answer
        is_whole = answer is not None and answer.next is None and not self.query.is_waiting
        return is_whole and self.answered == self.asked

    @property
    def largest(self) -> float:
        """The effect that has the strongest tint; 0 where there is none."""
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
