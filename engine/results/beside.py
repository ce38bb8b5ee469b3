"""A model beside a baseline, over the rows that both predicted: two scores, and what is claimed."""

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
    """A baseline beside a model, by the metric that chose the model; intervals are of 95 %."""

    name: str
    metric: str
    score: Interval
    difference: Interval  # of the model to it, by a bootstrap of pairs
    verdict: str  # BETTER, WORSE or UNSURE: whether the interval of the difference holds 0


def beside(model: Predictions, baseline: Predictions) -> Beside:
    """Raises StudioError where the two are of different tasks."""
    main = compare(baseline, model).metrics[0]
    verdict = UNSURE
    if main.is_sure:
        verdict = BETTER if (main.difference.value > 0) == main.higher_is_better else WORSE
    return Beside(baseline.info.model, main.name, main.first, main.difference, verdict)


def what_follows(found: Sequence[Beside]) -> str:
    """Whether a model beats its baselines, and what usually helps; empty where there are none."""
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
