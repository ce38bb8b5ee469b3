"""The metrics of predictions with their intervals, by the measures of each task.

N rows, C labels. `engine.evaluation` has a module for each task, whose `measures` are used here.
"""

from collections.abc import Container, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config.task import Metric, RowFigure
from engine.config.tasks import TASKS, metric_limits
from engine.evaluation.measures import Measure, Side, ratio_of_sums
from engine.results.intervals import UNKNOWN, Interval, bootstrap_counts, mean_interval
from engine.results.labels import codes, labelled, labels, members
from engine.results.predictions import Predictions
from engine.results.row_figures import Floats, cached_per_table, details, figure
from engine.results.span_figures import row_parts
from engine.results.spans import span_table, tags_name_spans


class _Rows:
    """Predictions as `engine.evaluation.measures.ScoredRows`."""

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions

    @property
    def metrics(self) -> Container[str]:
        return self._predictions.info.metrics

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return labelled(self._predictions)

    @property
    def labels(self) -> tuple[str, ...]:
        return labels(self._predictions)

    @property
    def model_labels(self) -> int:
        return len(self._predictions.info.labels)

    @property
    def details(self) -> Sequence[dict[str, Any]]:
        return details(self._predictions)

    @property
    def are_spans(self) -> bool:
        return tags_name_spans(self._predictions)

    @property
    def span_counts(self) -> NDArray[np.int64]:
        types = range(len(span_table(self._predictions).types))
        parts = [row_parts(self._predictions, type_) for type_ in types]
        return np.stack(parts, axis=2) if parts else np.zeros((len(self._predictions), 3, 0), int)

    def figure(self, name: RowFigure) -> Floats:
        return figure(self._predictions, name)

    def codes(self, side: Side) -> NDArray[np.int64]:
        return codes(self._predictions, side)

    def members(self, side: Side) -> NDArray[np.bool_]:
        return members(self._predictions, side)


@cached_per_table
def measures(predictions: Predictions) -> tuple[Measure, ...]:
    """The metrics of the task that are computed from rows, first the one of the best checkpoint.

    Rows without gold, or with scores that are not finite, are left out. Raises KeyError for an
    unknown task.
    """
    task = TASKS[predictions.info.task].task_name()
    result: tuple[Measure, ...] = import_module(f"engine.evaluation.{task}").measures(
        _Rows(predictions)
    )
    return result


def interval(measure: Measure, seed: int = 0) -> Interval:
    """A metric with its bootstrap interval over rows, or Wilson's for a fraction of rows."""
    kinds = measure.kinds[measure.kinds >= 0]
    if not len(kinds):
        return UNKNOWN
    used, times = np.unique(kinds, return_counts=True)
    if measure.compute is ratio_of_sums and (measure.parts[used, 1] == 1).all():
        return mean_interval(np.repeat(measure.parts[used, 0], times), seed=seed)
    result = bootstrap_counts(measure.parts[used], times, measure.compute, seed)
    return result.within(metric_limits(measure.name))


def difference(first: Measure, second: Measure) -> Interval:
    """The second minus the first over the same rows, by a paired bootstrap.

    Both are over N rows in the same order; rows without gold in one are left out.
    """
    usable = (first.kinds >= 0) & (second.kinds >= 0)
    if not usable.any():
        return UNKNOWN
    pairs = first.kinds[usable] * len(second.parts) + second.kinds[usable]
    used, times = np.unique(pairs, return_counts=True)
    a, b = np.divmod(used, len(second.parts))
    parts = np.hstack([first.parts[a], second.parts[b]])
    size = first.parts.shape[1]
    return bootstrap_counts(
        parts, times, lambda sums: second.compute(sums[:, size:]) - first.compute(sums[:, :size])
    )


def main_metric(predictions: Predictions) -> Metric:
    """The metric that chooses the best checkpoint."""
    metrics = TASKS[predictions.info.task].info.metrics
    return next(metric for metric in metrics if metric.name == _main_measure(predictions).name)


@cached_per_table
def main_score(predictions: Predictions) -> Interval:
    """The main metric over all labelled rows, with its interval; unknown without any."""
    if not predictions.is_labelled:
        return UNKNOWN
    return interval(_main_measure(predictions))


def _main_measure(predictions: Predictions) -> Measure:
    available = measures(predictions)
    chosen = predictions.info.best_metric
    return next((measure for measure in available if measure.name == chosen), available[0])
