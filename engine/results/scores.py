"""The figure that stands for predictions as a whole, with its interval."""

from engine.results.intervals import UNKNOWN, Interval
from engine.results.measures import measures
from engine.results.predictions import Predictions
from engine.results.row_figures import once
from engine.spec.task import Metric
from engine.spec.tasks import TASKS


def metric_of(predictions: Predictions) -> Metric:
    """The metric that decides which checkpoint is the best."""
    facts = TASKS[predictions.facts.task].facts
    return next(metric for metric in facts.metrics if metric.name == facts.best_metric)


@once
def score_of(predictions: Predictions) -> Interval:
    """That metric over all labelled rows, with its interval; unknown where there are none."""
    if not predictions.is_labelled:
        return UNKNOWN
    name = metric_of(predictions).name
    return next(one for one in measures(predictions) if one.name == name).interval()
