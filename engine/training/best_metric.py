"""The metric by which checkpoints are compared, and by which a run stops early."""

import math
from typing import NamedTuple

from engine.errors import StudioError
from engine.phrases import phrase
from engine.tasks.learner import Learner


class BestMetric(NamedTuple):
    """A metric of the validation set."""

    name: str
    higher_is_better: bool

    def is_better(self, new: float, old: float | None) -> bool:
        """Whether `new` is better than the best so far, `old`; what is no number never is."""
        if math.isnan(new):
            return False
        return old is None or (new > old if self.higher_is_better else new < old)


def best_metric(chosen: str, learner: Learner) -> BestMetric:
    """The chosen metric; where none is chosen, the usual one of the task.

    Raises StudioError where the labels that the learner has read leave the chosen one out.
    """
    name = chosen or learner.best_metric
    if name not in learner.measured:
        raise StudioError(
            phrase("With this data set, the task does not measure “{metric}”.", metric=name),
            phrase(
                "Choose one of {metrics} for the best checkpoint.",
                metrics=", ".join(learner.measured),
            ),
        )
    metrics = learner.task.info.metrics
    return BestMetric(name, next(m.higher_is_better for m in metrics if m.name == name))
