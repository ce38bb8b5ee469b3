"""Prediction for a typed text, and the words that decided it. No widgets."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.studio import Studio
from app.tasks import view_class
from engine.config.tasks import TASKS, get_head
from engine.messages.explore.attribution import Attribute, Attributed, WordEffect
from engine.messages.explore.prediction import Predict, Predicted
from engine.messages.question import Answer, Refused

MAX_CHARACTERS = 20_000  # per text; no model reads more


class TryingState(QObject):
    changed = Signal()

    def __init__(self, studio: Studio, checkpoint: Path, task: str) -> None:
        super().__init__()
        self._explorer, self._checkpoint, self.task = studio.explorer, checkpoint, task
        self._exact = studio.settings.preferences.exact_answers
        self.text, self.pair = "", ""
        self.endings: tuple[str, ...] = ()
        self.predicted: Predicted | None = None
        self.problem: Refused | None = None
        self.words: tuple[WordEffect, ...] = ()
        self.explained_label = ""  # whose score the words affect
        self.remaining = 0  # words not yet computed
        self.no_words_reason = ""
        self._prediction_id = self._effects_id = 0  # of the questions
        self._explorer.answered.connect(self._on_answer)

    @property
    def needs_choices(self) -> bool:
        return view_class(self.task).needs_choices and len(self.endings) < 2

    @property
    def compares_texts(self) -> bool:
        """True if the model compares two texts, so that no word decides alone."""
        head = TASKS[self.task].info.head
        return head is not None and head.pools

    @property
    def needs_pair(self) -> bool:
        return self.compares_texts and not self.pair.strip()

    def type_in(self, text: str, pair: str) -> None:
        """Predict for these texts; earlier questions are dropped."""
        cleaned = tuple(
            typed[:MAX_CHARACTERS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for typed in (text, pair)
        )
        self.text, self.pair = cleaned
        self._ask()

    def set_endings(self, endings: tuple[str, ...]) -> None:
        self.endings = endings
        self._ask()

    def _ask(self) -> None:
        self.problem, self._effects_id = None, 0
        if not self.text.strip() or self.needs_choices or self.needs_pair:
            self._prediction_id = 0
            self.predicted, self.words, self.no_words_reason, self.remaining = None, (), "", 0
            self.changed.emit()
            return
        self._prediction_id = self._explorer.ask(
            Predict(
                checkpoint=self._checkpoint,
                text=self.text,
                pair=self.pair or None,
                endings=self.endings,
                exact=self._exact,
            )
        )

    def _ask_effects(self, start: int = 0) -> None:
        if get_head(self.task).reads_tokens:
            self.no_words_reason = self.tr(
                "No effects of words: this model scores every token, not the text as a whole."
            )
            return
        self._effects_id = self._explorer.ask(
            Attribute(
                checkpoint=self._checkpoint,
                text=self.text,
                pair=self.pair or None,
                endings=self.endings,
                start=start,
                so_far=tuple(word.effect for word in self.words),
            )
        )

    def _on_answer(self, answer: Answer) -> None:
        if not answer.is_final or not answer.to:
            return
        if answer.to == self._prediction_id:
            self._prediction_id = 0
            self.predicted = answer if isinstance(answer, Predicted) else None
            self.problem = answer if isinstance(answer, Refused) else None
            self.words, self.remaining, self.no_words_reason = (), 0, ""
            if self.predicted is not None and not self.compares_texts:
                self._ask_effects()
        elif answer.to == self._effects_id:
            self._effects_id = 0
            if isinstance(answer, Refused):
                self.no_words_reason = answer.phrase
            elif isinstance(answer, Attributed):
                self.words, self.explained_label = answer.words, answer.explained.label
                self.remaining = answer.points - answer.done
                if answer.next is not None:
                    self._ask_effects(answer.next)
        else:
            return
        self.changed.emit()
