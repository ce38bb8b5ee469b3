"""The main score of predictions, with its interval."""

from engine.config.task import Metric
from engine.config.tasks import TASKS
from engine.evaluation.measures import Measure
from engine.results.intervals import UNKNOWN, Interval
from engine.results.measures import interval, measures
from engine.results.predictions import Predictions
from engine.results.row_figures import once


def metric_of(predictions: Predictions) -> Metric:
    """The metric that chooses the best checkpoint."""
    metrics = TASKS[predictions.info.task].info.metrics
    return next(metric for metric in metrics if metric.name == _measure_of(predictions).name)


@once
def score_of(predictions: Predictions) -> Interval:
    """That metric over all labelled rows, with its interval; unknown if there are none."""
    if not predictions.is_labelled:
        return UNKNOWN
    return interval(_measure_of(predictions))


def _measure_of(predictions: Predictions) -> Measure:
    """The chosen metric; the default if rows do not decide it, as with a loss."""
    found = measures(predictions)
    chosen = predictions.info.best_metric
    return next((one for one in found if one.name == chosen), found[0])
