"""Association between the words of two slots of a template."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.messages.explore.text import AblationQuestion
from engine.messages.question import Answer, PartAnswer

FILLER, TARGET = "[FILLER]", "[TARGET]"  # the slots of a template, in any case
MAX_TEMPLATES, MAX_WORDS = 20, 50  # per question; words per slot


class TargetScore(Message):
    """A target in one text: joint natural log-probabilities as in `Candidate`.

    `given` is with the filler shown, `prior` with each of its tokens masked; if None, `problem`
    says why.
    """

    tokens: tuple[str, ...] = ()
    given: float | None = None
    prior: float | None = None
    problem: PhraseField = ""

    @property
    def association(self) -> float | None:
        """ln p(target | filler) − ln p(target | masked filler) (Kurita et al. 2019, §2.2)."""
        if self.given is None or self.prior is None:
            return None
        return self.given - self.prior


class TemplateRow(Message):
    """A filler in a template, and all targets in their order."""

    template: int = Field(description="Index from 0, as for fillers.")
    filler: int
    tokens: tuple[str, ...] = ()
    targets: tuple[TargetScore, ...]


class TemplatesScored(PartAnswer):
    """The rows from `start` on, fillers of the first template first."""

    kind: Literal["templates_scored"] = "templates_scored"
    rows: tuple[TemplateRow, ...]
    total: int


class ScoreTemplates(AblationQuestion):
    """Score each target in each template, with each filler and with it masked.

    An answer covers some rows and says where to continue, so that other questions come in between.
    """

    answered_by: ClassVar[type[Answer]] = TemplatesScored
    kind: Literal["score_templates"] = "score_templates"
    checkpoint: Path
    templates: tuple[str, ...] = Field(min_length=1, max_length=MAX_TEMPLATES)
    fillers: tuple[str, ...] = Field(min_length=1, max_length=MAX_WORDS)
    targets: tuple[str, ...] = Field(min_length=1, max_length=MAX_WORDS)
    start: int = Field(0, ge=0)
