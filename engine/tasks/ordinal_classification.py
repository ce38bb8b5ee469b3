"""Ordered labels: conditional probabilities of the next higher label (Shi et al. 2023, CORN).

Shapes: B sequences, C labels, N rows.
"""

import numpy as np
import torch

from engine.config.tasks.ordinal_classification import OrdinalClassification
from engine.data.columns.roles import MissingRole
from engine.data.columns.scales import order_labels
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.evaluation.ordinal_classification import OrdinalReport, report
from engine.tasks.learner import Examples
from engine.tasks.text_classification import ClassCollector, TextClassificationLearner
from engine.tasks.whole_text import quote_labels


class OrdinalClassificationLearner(TextClassificationLearner):
    """A linear layer whose outputs are chained (`engine.models.heads.ordinal_logits`).

    Its cross-entropy is the sum of the binary ones of CORN, each over the rows that reach the label
    below. The predicted label is the median, the best one for the mean distance.
    """

    task: OrdinalClassification

    def fit_labels(self, rows: Rows) -> None:
        if not self._labels and rows.labels is not None:
            names = sorted({*rows.labels})
            self._labels = order_labels(names)
            if not self._labels:
                raise StudioError(
                    "The order of the labels is not known: {names}.",
                    "List them from the lowest to the highest, or choose text classification.",
                    names=quote_labels(names),
                )
        super().fit_labels(rows)

    def choose(self, logits: np.ndarray) -> np.ndarray:
        return median_labels(logits)

    def make_metrics(self, examples: Examples) -> "OrdinalCollector":
        return OrdinalCollector(
            examples, self._labels, self.prediction, tuple(self.new_labels), self.aggregate
        )


class OrdinalCollector(ClassCollector):
    """Predicts the median label."""

    def choose(self, logits: np.ndarray) -> np.ndarray:
        return median_labels(logits)

    def report(self) -> OrdinalReport:
        if self._targets is None:
            raise MissingRole("label")
        return report(self.logits, self._targets, self._all_labels, self.choose(self.logits))


def median_labels(logits: np.ndarray) -> np.ndarray:
    """The number of labels below which at least half of the probability is not, int64 [N].

    Args:
        logits: log-probabilities divided by the temperature, float [N, C].
    """
    probabilities = torch.from_numpy(np.asarray(logits, dtype=np.float64)).softmax(1).numpy()
    higher = 1 - probabilities.cumsum(axis=1)[:, :-1] > 0.5  # P(y > k)
    medians: np.ndarray = higher.sum(axis=1)
    return medians
