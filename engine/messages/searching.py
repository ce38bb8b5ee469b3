"""Questions about a hyperparameter search: the next combination, and field importance."""

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from engine.config.job import JobSpec
from engine.config.search import SearchSpec
from engine.messages import Message
from engine.messages.question import Answer, Question

TrialState = Literal["running", "finished", "pruned", "failed"]


class Trial(Message):
    """A tried combination: its values by path, and the results of its runs.

    `score` is the mean over the seeds that have one; `evaluations` are the scores of its first
    pruned run at each evaluation, None if not finite.
    """

    values: dict[str, JsonValue]
    state: TrialState
    score: float | None = None
    evaluations: tuple[float | None, ...] = ()


class Suggested(Answer):
    kind: Literal["suggested"] = "suggested"
    values: dict[str, JsonValue] | None = Field(
        None, description="The next combination; None if all were tried."
    )
    optuna: str = Field("", description="The version of Optuna that chose it.")


class Suggest(Question):
    """Suggest the next combination, by Optuna's TPE."""

    answered_by: ClassVar[type[Answer]] = Suggested
    worker: ClassVar[str] = "search"
    kind: Literal["suggest"] = "suggest"
    search: SearchSpec
    job: JobSpec | None = Field(None, description="A job of the search; values obey its rules.")
    trials: tuple[Trial, ...]
    higher_is_better: bool = True
    seed: int = 0


class FieldImportance(Message):
    """Fraction of the variance of the score that a field explains, from 0 to 1, with its 90 %
    range."""

    path: str
    share: float
    low: float
    high: float


class ImportanceMeasured(Answer):
    """`explained` is R² of the forest on held-out trials; below 0.1 the result means nothing."""

    kind: Literal["importance"] = "importance"
    fields: tuple[FieldImportance, ...]
    trials: int
    explained: float


class MeasureImportance(Question):
    """Measure by fANOVA which fields of a search the score depends on."""

    answered_by: ClassVar[type[Answer]] = ImportanceMeasured
    worker: ClassVar[str] = "search"
    kind: Literal["measure_importance"] = "measure_importance"
    search: SearchSpec
    trials: tuple[Trial, ...]
