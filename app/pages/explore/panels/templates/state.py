"""Templates with fillers and targets, scored by the first model.

Shapes: S templates, F fillers, G targets.
"""

from typing import Literal

import numpy as np
from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput, clean_text
from app.pages.explore.state import ExploreState
from engine.messages.explore.templates import (
    MAX_TEMPLATES,
    MAX_WORDS,
    ScoreTemplates,
    TemplateRow,
    TemplatesScored,
)

Measure = Literal["association", "given", "prior"]
TEMPLATES = ("[TARGET] works as a [FILLER].", "The [FILLER] said that [TARGET] is tired.")
FILLERS = ("nurse", "engineer", "teacher", "soldier")
TARGETS = ("he", "she")


class TemplatesState(QObject):
    """Templates, words and scores; rows arrive in slices.

    Signals:
        changed: the rows, the reason for none, or whether more are pending.
        shown_changed: another template or measure is shown.
    """

    changed = Signal()
    shown_changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore)
        self.explore = explore
        self.templates: tuple[str, ...] = TEMPLATES
        self.fillers: tuple[str, ...] = FILLERS
        self.targets: tuple[str, ...] = TARGETS
        self.rows: tuple[TemplateRow, ...] = ()
        self.total = 0
        self.template = -1  # displayed template; -1: the mean of all
        self.measure: Measure = "association"
        self._start = 0
        self._key: ScoreTemplates | None = None  # the question that the rows answer
        self._last_answer: TemplatesScored | None = None
        self.query = LiveQuery(explore, explorer, self._question)
        self.query.changed.connect(self._on_answer)
        explore.heads_off_changed.connect(self.query.invalidate)

    @property
    def is_complete(self) -> bool:
        return bool(self.rows) and len(self.rows) == self.total

    def set_templates(self, typed: str) -> None:
        """Set the templates, one per line."""
        lines = (clean_text(line.strip()) for line in typed.splitlines())
        self.templates = tuple(line for line in lines if line)[:MAX_TEMPLATES]
        self.template = -1
        self.query.invalidate()

    def set_fillers(self, typed: str) -> None:
        """Set the fillers, separated by commas."""
        self.fillers = words(typed)
        self.query.invalidate()

    def set_targets(self, typed: str) -> None:
        self.targets = words(typed)
        self.query.invalidate()

    def show(self, template: int, measure: Measure) -> None:
        if (template, measure) != (self.template, self.measure):
            self.template, self.measure = template, measure
            self.shown_changed.emit()

    def numbers(self, measure: Measure) -> np.ndarray:
        """float64 [S, F, G], natural logarithms; NaN if missing or not known yet."""
        numbers = np.full((len(self.templates), len(self.fillers), len(self.targets)), np.nan)
        for row in self.rows:
            for column, target in enumerate(row.targets):
                value = getattr(target, measure)
                if value is not None:
                    numbers[row.template, row.filler, column] = value
        return numbers

    @property
    def shown(self) -> np.ndarray:
        """One template, or the mean over those with a number; float64 [F, G]."""
        every = self.numbers(self.measure)
        if self.template >= 0:
            chosen: np.ndarray = every[self.template]
            return chosen
        known = np.isfinite(every)
        count = known.sum(0)
        sums = np.where(known, every, 0).sum(0)
        return np.where(count > 0, sums / np.maximum(count, 1), np.nan)

    def problems(self) -> dict[str, list[str]]:
        """Words of the missing numbers by reason."""
        reasons: dict[str, list[str]] = {}
        for row in self.rows:
            is_filler = all(target.problem for target in row.targets)
            for target, word in zip(row.targets, self.targets, strict=True):
                words = reasons.setdefault(target.problem, []) if target.problem else []
                of = self.fillers[row.filler] if is_filler else word
                if of not in words:
                    words.append(of)
        return reasons

    def _base_question(self, side: ModelInput) -> ScoreTemplates | None:
        if side.checkpoint is None or not side.has_head("mlm"):
            return None
        if not (self.templates and self.fillers and self.targets):
            return None
        return ScoreTemplates(
            checkpoint=side.checkpoint,
            templates=self.templates,
            fillers=self.fillers,
            targets=self.targets,
            **side.ablation,
        )

    def _question(self, side: ModelInput) -> ScoreTemplates | None:
        question = self._base_question(side)
        if question != self._key:
            self._key, self.rows, self.total, self._start = question, (), 0, 0
        if question is None:
            return None
        return question.model_copy(update={"start": self._start})

    def _on_answer(self) -> None:
        answer = self.query.answer
        is_new = isinstance(answer, TemplatesScored) and answer is not self._last_answer
        if isinstance(answer, TemplatesScored) and is_new and self._is_next(answer):
            self._last_answer = answer
            self.rows += answer.rows
            self.total = answer.total
            if answer.next is not None:
                self._start = answer.next
                self.query.invalidate()  # at once, or when the panel is visible again
                if self.query.is_waiting:
                    return  # it has emitted `changed`
        self.changed.emit()

    def _is_next(self, answer: TemplatesScored) -> bool:
        """True if these rows continue the known ones."""
        if self._base_question(self.explore.first) != self._key or not answer.rows:
            return False
        first = answer.rows[0]
        return first.template * len(self.fillers) + first.filler == len(self.rows)


def words(typed: str) -> tuple[str, ...]:
    """Unique words of a comma-separated list."""
    cleaned = (clean_text(word.strip()) for word in typed.replace("\n", ",").split(","))
    return tuple(dict.fromkeys(word for word in cleaned if word))[:MAX_WORDS]
