"""Prediction for a typed text, and the words that decided it. No widgets."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from PySide6.QtCore import QObject, Signal

from app.studio import Studio
from app.tasks import view_class
from engine.config.joined_texts import template_columns
from engine.config.tasks import TASKS, get_head
from engine.data.columns.joined import JoinedColumn
from engine.messages.explore.attribution import Attribute, Attributed, WordEffect
from engine.messages.explore.prediction import Predict, Predicted
from engine.messages.question import Answer, Refused

NO_TEXTS: Mapping[str, str] = MappingProxyType({})
MAX_CHARACTERS = 500_000  # per text; only models that read windows read more than a page


class TryingState(QObject):
    changed = Signal()

    def __init__(
        self, studio: Studio, checkpoint: Path, task: str, texts: Mapping[str, str] = NO_TEXTS
    ) -> None:
        """`texts`: the columns or templates of the model's texts by role."""
        super().__init__()
        self._explorer, self._checkpoint, self.task = studio.explorer, checkpoint, task
        self._exact = studio.settings.preferences.exact_answers
        self.joined = {
            role: JoinedColumn(name, columns)
            for role, name in texts.items()
            if (columns := template_columns(name))
        }
        self.text, self.pair = "", ""
        self.endings: tuple[str, ...] = ()
        self.predicted: Predicted | None = None
        self.problem: Refused | None = None
        self.words: tuple[WordEffect, ...] = ()
        self.passage = -1  # index of the passage of a long text whose words are shown
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

    @property
    def asked_pair(self) -> str | None:
        """The second text; a joined one may be empty."""
        return self.pair if "pair" in self.joined else self.pair or None

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
        has_text = self.text.strip() or ("pair" in self.joined and self.pair.strip())
        if not has_text or self.needs_choices or self.needs_pair:
            self._prediction_id = 0
            self.predicted, self.words, self.no_words_reason, self.remaining = None, (), "", 0
            self.changed.emit()
            return
        self._prediction_id = self._explorer.ask(
            Predict(
                checkpoint=self._checkpoint,
                text=self.text,
                pair=self.asked_pair,
                endings=self.endings,
                exact=self._exact,
            )
        )

    def choose_passage(self, index: int) -> None:
        """Show the words of another passage of a long text."""
        self.passage = index
        self.words, self.remaining, self.no_words_reason = (), 0, ""
        self._ask_effects()
        self.changed.emit()

    def _explained_texts(self) -> tuple[str, str | None]:
        """The texts whose words are shown: the chosen passage of a long one."""
        texts = [self.text, self.asked_pair or ""]
        if self.predicted is not None and self.predicted.passages:
            chosen = self.predicted.passages[self.passage]
            texts[chosen.segment] = texts[chosen.segment][chosen.start : chosen.end]
        return texts[0], texts[1] if "pair" in self.joined else texts[1] or None

    def _ask_effects(self, start: int = 0) -> None:
        if get_head(self.task).reads_tokens:
            self.no_words_reason = self.tr(
                "No effects of words: this model scores every token, not the text as a whole."
            )
            return
        text, pair = self._explained_texts()
        is_passage = self.predicted is not None and self.predicted.passages
        label = self.predicted.predicted[:1] if self.predicted is not None and is_passage else ()
        self._effects_id = self._explorer.ask(
            Attribute(
                checkpoint=self._checkpoint,
                text=text,
                pair=pair,
                endings=self.endings,
                label="".join(label),
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
            passages = self.predicted.passages if self.predicted is not None else ()
            effects = [passage.effect for passage in passages]
            self.passage = effects.index(max(effects)) if effects else -1
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
