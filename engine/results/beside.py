"""Comparison of a model with a baseline over the rows that both predicted."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.phrases import phrase
from engine.results.comparing import compare
from engine.results.intervals import Interval
from engine.results.predictions import Predictions

BETTER, WORSE, UNSURE = (
    "the model is better",
    "the model is worse",
    "the difference may be chance",
)


class Beside(NamedTuple):
    """A baseline compared with a model, by the metric that chose the model; 95 % intervals."""

    name: str
    metric: str
    score: Interval
    difference: Interval  # model minus baseline, paired bootstrap
    verdict: str  # BETTER or WORSE; UNSURE if the interval of the difference contains 0


def beside(model: Predictions, baseline: Predictions) -> Beside:
    """Compare a model with a baseline. Raises StudioError if their tasks differ."""
    main = compare(baseline, model).metrics[0]
    verdict = UNSURE
    if main.is_sure:
        verdict = BETTER if (main.difference.value > 0) == main.higher_is_better else WORSE
    return Beside(baseline.info.model, main.name, main.first, main.difference, verdict)


def what_follows(found: Sequence[Beside]) -> str:
    """Say if the model beats its baselines, and what usually helps; empty for no baselines."""
    if not found:
        return ""
    unbeaten = [one.name for one in found if one.verdict != BETTER]
    if not unbeaten:
        return phrase("The model beats them.")
    return phrase(
        "The model is not clearly better than {baselines}. What usually helps: more or cleaner "
        "training rows, more epochs, another learning rate, a larger base model.",
        baselines=", ".join(unbeaten),
    )
