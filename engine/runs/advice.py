"""Advice for a run from its measurements: whether it learned, and what to try.

Pure functions over the curves, one for each kind of advice, in one table. They are called while a
run trains and when it has ended; the window shows the first result, and the headless commands print
all of them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from pydantic import ValidationError

from engine.config.features import FINE_TUNED
from engine.config.job import FromScratch, JobSpec
from engine.config.recommended import get_regime, recommended_rate
from engine.config.task import Metric, WindowedTask
from engine.config.training import TrainingSpec
from engine.messages.events import Ended, Event, Measured, Prepared
from engine.phrases import Phrase, number_text, phrase

Curve = Sequence[tuple[int, float]]  # step and value, by step

MIN_PROGRESS = 1 / 3  # of the steps, before a run can be said not to have learned
FEW_EVALUATIONS = 2
MIN_GAIN = 0.01  # of accuracy, above that of the majority label
MIN_SCORE = 0.1  # of F1 or a correlation, below which hardly anything was learned
MIN_CHANGE = 0.03  # as a fraction of the training loss
MAX_RISE = 0.15  # fraction of the lowest validation loss, or of the first training loss
MAX_DROP = 0.02  # of the score, since the best
LOSS_PARTS = 5  # parts of the training loss whose means are compared
MIN_LOSSES = 50  # losses, before these means are reliable
MIN_TRUNCATED = 0.5  # fraction of the inputs
RATE_RATIO = 1.5  # times the recommended rate, or a fraction of it
RATE_FACTOR = 3  # between the rates to try, if none is recommended
MAX_NAMED_LABELS = 5
MOVE_ROWS = ("absent_labels", "move")  # a check and its fix


@dataclass(frozen=True)
class Advice:
    """One sentence about the measurement, one about what to try, and the run that tries it: other
    settings, or a fixed version of the data set."""

    name: str
    problem: str
    advice: str
    change: Mapping[str, Any] = field(default_factory=dict)  # fields of TrainingSpec
    fix: tuple[str, str] | None = None  # names of a data check and its fix

    def apply_to(self, job: JobSpec) -> JobSpec:
        training = job.training.model_dump() | dict(self.change)
        return job.model_copy(update={"training": TrainingSpec.model_validate(training)})


def needed_curves(prepared: Prepared) -> tuple[str, ...]:
    """Curves that advice is based on; no others are kept."""
    return ("loss", "validation_loss", prepared.best_metric)


@dataclass(frozen=True)
class Measurements:
    """Measurements of a run so far; values that were not finite are left out."""

    job: JobSpec
    prepared: Prepared
    curves: Mapping[str, Curve]
    is_finished: bool = False

    @property
    def loss(self) -> Curve:
        return self.curves.get("loss", ())

    @property
    def validation_loss(self) -> Curve:
        return self.curves.get("validation_loss", ())

    @property
    def scores(self) -> Curve:
        return self.curves.get(self.prepared.best_metric, ())

    @property
    def metric(self) -> Metric | None:
        name = self.prepared.best_metric.removeprefix("validation_")
        return next((m for m in self.job.task.info.metrics if m.name == name), None)

    @cached_property
    def best(self) -> tuple[int, float]:
        """Step and value of the best score; the first of equal ones."""
        sign = 1 if self.prepared.higher_is_better else -1
        return max(self.scores, key=lambda point: (sign * point[1], -point[0]))

    @property
    def is_conclusive(self) -> bool:
        """True after enough training to judge what was learned."""
        if self.is_finished:
            return bool(self.loss)
        reached = self.loss[-1][0] if self.loss else 0
        return reached >= MIN_PROGRESS * self.prepared.steps and len(self.scores) >= FEW_EVALUATIONS

    def epoch(self, step: int) -> int:
        per_epoch = math.ceil(self.prepared.examples / self.job.training.batch_size)
        return max(1, math.ceil(step / max(1, per_epoch)))

    def mean_loss(self, first: float, last: float) -> float:
        """The mean training loss between two fractions of the points so far."""
        count = len(self.loss)
        part = self.loss[int(first * count) : max(int(first * count) + 1, int(last * count))]
        return fmean(value for _, value in part)


def rate_too_high(m: Measurements) -> Advice | None:
    """The training loss has risen again, or nothing is learned above the recommended rate."""
    if not m.is_conclusive or not m.loss:
        return None
    rate, standard = m.job.training.learning_rate, _recommended_rate(m)
    parts = [m.mean_loss(n / LOSS_PARTS, (n + 1) / LOSS_PARTS) for n in range(LOSS_PARTS)]
    is_low = standard is not None and rate * RATE_RATIO < standard
    rises = parts[-1] - min(parts) > MAX_RISE * parts[0]
    diverged = len(m.loss) >= MIN_LOSSES and not is_low and rises
    is_high = standard is not None and rate > RATE_RATIO * standard
    if not diverged and not (is_high and (_is_no_better(m) or _has_hardly_moved(m))):
        return None
    lower = standard if is_high and standard is not None else rate / RATE_FACTOR
    if diverged:
        problem = phrase(
            "The training loss rises again, from {lowest:.3g} to {last:.3g}: the learning rate "
            "{rate} may be too high.",
            lowest=min(parts),
            last=parts[-1],
            rate=number_text(rate),
        )
    else:
        problem = phrase(
            "Hardly anything is learned, and the learning rate {rate} is {times:.2g} times the "
            "recommended one: it may be too high.",
            rate=number_text(rate),
            times=rate / lower,
        )
    return Advice("rate may be too high", problem, *_try_rate(lower))


def no_better_than_majority(m: Measurements) -> Advice | None:
    """The score is that of the majority label, or close to zero."""
    if not m.is_conclusive or not m.scores or not _is_no_better(m):
        return None
    score, metric = m.best[1], m.metric
    if _baseline(m):
        problem = phrase(
            "No better than the majority baseline, which always predicts “{label}” ({share:.1%}).",
            label=m.prepared.majority[:60],
            share=m.prepared.majority_score,
        )
    else:
        problem = phrase(
            "Hardly anything is learned: the best {metric} is {score:.2f}.",
            metric=Phrase(metric.title, {}) if metric else m.prepared.best_metric,
            score=score,
        )
    return Advice("no better than always the same", problem, *_learn_more(m))


def hardly_learned(m: Measurements) -> Advice | None:
    """The training loss is about the same as at the start."""
    if not m.is_conclusive or not m.loss or not _has_hardly_moved(m):
        return None
    problem = phrase(
        "Hardly anything is learned: the training loss was {first:.3g} and is {last:.3g}.",
        first=m.mean_loss(0, 0.1),
        last=m.mean_loss(0.8, 1),
    )
    return Advice("has hardly learned", problem, *_learn_more(m))


def overfits(m: Measurements) -> Advice | None:
    """The validation loss has risen for several evaluations, and the score has fallen."""
    losses = m.validation_loss
    if len(losses) < FEW_EVALUATIONS + 1 or not m.scores:
        return None
    lowest = min(losses, key=lambda point: point[1])
    later = [value for step, value in losses if step > lowest[0]]
    if len(later) < FEW_EVALUATIONS or later[-1] < (1 + MAX_RISE) * lowest[1]:
        return None
    best_step, best = m.best
    if m.prepared.higher_is_better and m.scores[-1][1] > best - MAX_DROP:
        return None
    epochs = m.epoch(best_step)
    problem = phrase(
        "Probably overfits since epoch {epoch}: the validation loss was {lowest:.3g} and is "
        "{last:.3g}.",
        epoch=m.epoch(lowest[0]),
        lowest=lowest[1],
        last=later[-1],
    )
    if epochs < m.job.training.epochs and not m.job.training.steps:
        advice = phrase("The best checkpoint is kept. Try {n} epoch(s), or add rows.", n=epochs)
        return Advice("overfits", problem, advice, {"epochs": float(epochs)})
    advice = phrase("The best checkpoint is kept. Try {n:,} step(s), or add rows.", n=best_step)
    return Advice("overfits", problem, advice, {"steps": best_step})


def absent_labels(m: Measurements) -> Advice | None:
    """Some labels occur only in the training set."""
    absent = m.prepared.absent
    if not absent:
        return None
    names = ", ".join(f"“{label[:60]}”" for label in absent[:MAX_NAMED_LABELS])
    rest = (
        phrase(" and {count} more", count=len(absent) - MAX_NAMED_LABELS)
        if absent[MAX_NAMED_LABELS:]
        else ""
    )
    problem = phrase("The validation set has no row with {names}{rest}.", names=names, rest=rest)
    advice = phrase("Move some of their training rows to the validation set, or add rows.")
    return Advice("labels are missing in validation", problem, advice, fix=MOVE_ROWS)


def most_are_truncated(m: Measurements) -> Advice | None:
    """More than half of the inputs reach the maximum length."""
    if m.prepared.truncated <= MIN_TRUNCATED:
        return None
    length = m.job.training.max_length
    problem = phrase(
        "{share:.0%} of the training inputs are truncated to {n} token(s).",
        share=m.prepared.truncated,
        n=length,
    )
    longer = min(m.prepared.longest or 2 * length, 2 * length)
    if longer <= length:
        advice = phrase("Split the texts, or use a model that reads longer ones.")
        if isinstance(m.job.task, WindowedTask):
            advice = phrase("Read long texts in windows: the setting “Long texts” of a new run.")
        return Advice("most inputs are truncated", problem, advice)
    advice = phrase("Try a max. length of {n} token(s).", n=longer)
    return Advice("most inputs are truncated", problem, advice, {"max_length": longer})


RULES: tuple[Callable[[Measurements], Advice | None], ...] = (
    rate_too_high,
    no_better_than_majority,
    hardly_learned,
    overfits,
    absent_labels,
    most_are_truncated,
)
LEARNED_NOTHING = {"rate may be too high", "no better than always the same", "has hardly learned"}


def advise(measurements: Measurements) -> list[Advice]:
    """All advice for a run, the most important first; at most one of each kind."""
    applicable = [advice for rule in RULES if (advice := rule(measurements)) is not None]
    allowed = [_within_limits(advice, measurements.job) for advice in applicable]
    repeated = [advice for advice in allowed if advice.name in LEARNED_NOTHING]
    return [advice for advice in allowed if advice not in repeated[1:]]


def _within_limits(advice: Advice, job: JobSpec) -> Advice:
    """Drop the change if a setting would leave its range."""
    try:
        advice.apply_to(job)
    except ValidationError:
        return replace(advice, change={})
    return advice


class Advisor:
    """Collects the events of a run, and gives advice when it is due."""

    def __init__(self, job: JobSpec) -> None:
        self._job = job
        self._prepared: Prepared | None = None
        self._curves: dict[str, dict[int, float]] = {}
        self._reported: set[str] = set()
        self._was_evaluated = False

    def on_event(self, event: Event) -> list[Advice]:
        """New advice after an evaluation, and all advice when the run has finished."""
        match event:
            case Prepared():
                self._prepared = event
            case Measured(name=name, step=step, value=value):
                if value is not None and self._prepared and name in needed_curves(self._prepared):
                    self._curves.setdefault(name, {})[step] = value
                if name.startswith("validation_"):
                    self._was_evaluated = True
                    return []
            case Ended(outcome="finished"):
                return self._advices(is_finished=True)
        if not self._was_evaluated:
            return []
        self._was_evaluated = False
        new = [item for item in self._advices(is_finished=False) if item.name not in self._reported]
        self._reported |= {advice.name for advice in new}
        return new

    def _advices(self, is_finished: bool) -> list[Advice]:
        if self._prepared is None:
            return []
        curves = {name: sorted(points.items()) for name, points in self._curves.items()}
        return advise(Measurements(self._job, self._prepared, curves, is_finished))


def _baseline(m: Measurements) -> float:
    name = m.prepared.best_metric
    return m.prepared.majority_score if name == "validation_accuracy" else 0.0


def _is_no_better(m: Measurements) -> bool:
    if not m.scores or not m.prepared.higher_is_better:
        return False
    baseline = _baseline(m)
    return m.best[1] <= (baseline + MIN_GAIN if baseline else MIN_SCORE)


def _has_hardly_moved(m: Measurements) -> bool:
    return bool(m.loss) and m.mean_loss(0.8, 1) > (1 - MIN_CHANGE) * m.mean_loss(0, 0.1)


def _recommended_rate(m: Measurements) -> float | None:
    if not m.prepared.layer_weights or m.job.features.vectors != FINE_TUNED:
        return None
    from_scratch = isinstance(m.job.base_model, FromScratch)
    regime = get_regime(m.job.task.info, from_scratch, bool(m.job.training.lora_rank))
    return recommended_rate(regime, m.prepared.layer_weights)


def _learn_more(m: Measurements) -> tuple[str, dict[str, Any]]:
    rate, standard = m.job.training.learning_rate, _recommended_rate(m)
    if standard is not None and rate * RATE_RATIO < standard:
        return _try_rate(standard)
    if standard is None and m.job.features.vectors == FINE_TUNED:
        return _try_rate(RATE_FACTOR * rate)
    if steps := 2 * m.job.training.steps:
        return phrase("Try {steps:,} steps, or add rows.", steps=steps), {"steps": steps}
    epochs = 2 * m.job.training.epochs
    return phrase("Try {epochs:g} epochs, or add rows.", epochs=epochs), {"epochs": epochs}


def _try_rate(rate: float) -> tuple[str, dict[str, Any]]:
    rate = float(f"{rate:.1g}")
    return phrase("Try a learning rate of {rate}.", rate=number_text(rate)), {"learning_rate": rate}
