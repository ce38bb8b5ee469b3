"""Predictions of a fine-tuned model."""

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.side import Side, cleaned
from app.pages.explore.study import Study
from app.tasks import view_of
from engine.messages.explore.prediction import Predict, Predicted


class PredictionsState(QObject):
    """The prediction of one side.

    Signals:
        changed: the answer, the reason for none, or whether one is pending.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer, side: int = 0) -> None:
        super().__init__(study)
        self.study, self.side = study, study.both[side]
        self.endings = _clean(study.choices)  # for multiple choice
        self.query = LiveQuery(study, explorer, self._question, side)
        self.query.changed.connect(self.changed)
        study.choices_changed.connect(lambda: self.set_endings(study.choices))

    @property
    def answer(self) -> Predicted | None:
        answer = self.query.answer
        return answer if isinstance(answer, Predicted) else None

    @property
    def waits(self) -> bool:
        """True while an answer or the first question is pending."""
        return self.query.is_waiting or not self.study.is_settled

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
        return view_of(task).asks_for_choices and len(self.endings) < 2

    def _question(self, side: Side) -> Predict | None:
        if side.task is None or self._needs_choices(side.task):
            return None
        return side.asked(Predict, endings=self.endings, exact=self.study.is_exact)


def _clean(endings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(cleaned(ending) for ending in endings)
