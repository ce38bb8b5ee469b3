"""Templates with fillers and targets, scored by the first model.

Shapes: S templates, F fillers, G targets.
"""

from typing import Literal

import numpy as np
from PySide6.QtCore import Signal

from app.explorer import Explorer
from app.pages.explore.model_input import ModelInput, clean_text
from app.pages.explore.parts_query import PartsQuery
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


class TemplatesState(PartsQuery[ScoreTemplates, TemplatesScored]):
    """Templates, words and scores; rows arrive in slices.

    Signals:
        shown_changed: another template or measure is shown.
    """

    shown_changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore, explorer, self._make_question)
        self.templates: tuple[str, ...] = TEMPLATES
        self.fillers: tuple[str, ...] = FILLERS
        self.targets: tuple[str, ...] = TARGETS
        self.template = -1  # displayed template; -1: the mean of all
        self.measure: Measure = "association"
        explore.heads_off_changed.connect(self.query.invalidate)

    @property
    def rows(self) -> tuple[TemplateRow, ...]:
        """The rows known so far."""
        return tuple(row for part in self.parts for row in part.rows)

    @property
    def total(self) -> int:
        return self.parts[-1].total if self.parts else 0

    def set_templates(self, typed: str) -> None:
        lines = (clean_text(line.strip()) for line in typed.splitlines())
        self.templates = tuple(line for line in lines if line)[:MAX_TEMPLATES]
        self.template = -1
        self.query.invalidate()

    def set_fillers(self, typed: str) -> None:
        self.fillers = parse_words(typed)
        self.query.invalidate()

    def set_targets(self, typed: str) -> None:
        self.targets = parse_words(typed)
        self.query.invalidate()

    def show(self, template: int, measure: Measure) -> None:
        if (template, measure) != (self.template, self.measure):
            self.template, self.measure = template, measure
            self.shown_changed.emit()

    def values(self, measure: Measure) -> np.ndarray:
        """Natural logarithms, float64 [S, F, G]; NaN if missing or not known yet."""
        values = np.full((len(self.templates), len(self.fillers), len(self.targets)), np.nan)
        for row in self.rows:
            for column, target in enumerate(row.targets):
                value = getattr(target, measure)
                if value is not None:
                    values[row.template, row.filler, column] = value
        return values

    @property
    def shown_values(self) -> np.ndarray:
        """Values of the shown template, or their mean over all templates; float64 [F, G]."""
        values = self.values(self.measure)
        if self.template >= 0:
            chosen: np.ndarray = values[self.template]
            return chosen
        known = np.isfinite(values)
        count = known.sum(0)
        sums = np.where(known, values, 0).sum(0)
        return np.where(count > 0, sums / np.maximum(count, 1), np.nan)

    def problems(self) -> dict[str, list[str]]:
        """Words without a score, by reason."""
        reasons: dict[str, list[str]] = {}
        for row in self.rows:
            is_filler = all(target.problem for target in row.targets)
            for target, word in zip(row.targets, self.targets, strict=True):
                words = reasons.setdefault(target.problem, []) if target.problem else []
                name = self.fillers[row.filler] if is_filler else word
                if name not in words:
                    words.append(name)
        return reasons

    def _make_question(self, side: ModelInput) -> ScoreTemplates | None:
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


def parse_words(typed: str) -> tuple[str, ...]:
    """Unique words of a comma-separated list."""
    cleaned = (clean_text(word.strip()) for word in typed.replace("\n", ",").split(","))
    return tuple(dict.fromkeys(word for word in cleaned if word))[:MAX_WORDS]
