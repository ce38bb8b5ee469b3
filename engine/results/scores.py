"""The figure that stands for predictions as a whole, with its interval."""

from engine.results.intervals import UNKNOWN, Interval, mean_interval
from engine.results.predictions import Predictions
from engine.results.row_figures import figure, once
from engine.spec.task import Metric
from engine.spec.tasks import TASKS

MEANS = ("accuracy", "exact_match")  # of what is right of each row


def metric_of(predictions: Predictions) -> Metric:
    """The metric that decides which checkpoint is the best."""
    facts = TASKS[predictions.facts.task].facts
    return next(metric for metric in facts.metrics if metric.name == facts.best_metric)


@once
def score_of(predictions: Predictions) -> Interval:
    """That metric over all rows; without ends where they are not known, unknown without gold."""
    if not predictions.is_labelled:
        return UNKNOWN
    name = metric_of(predictions).name
    if name in MEANS:
        return mean_interval(figure(predictions, "score").astype("float64"))
    nothing = float("nan")
    return Interval(predictions.facts.metrics.get(name, nothing), nothing, nothing)
