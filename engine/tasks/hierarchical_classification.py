"""Labels that are paths of a hierarchy: a softmax over the known paths, summed at inner nodes.

Its cross-entropy is the sum of those of each node among its siblings, as the probability of a path
is the product of the conditional ones. No path that is not among the labels can be predicted.
Shapes: C labels, N rows.
"""

from typing import Any

import numpy as np
import torch

from engine.config.levels import Levels
from engine.config.tasks.hierarchical_classification import HierarchicalClassification
from engine.data.columns.roles import MissingRole
from engine.evaluation.hierarchical_classification import (
    HierarchicalReport,
    cut,
    likely_paths,
    report,
)
from engine.tasks.learner import Examples
from engine.tasks.text_classification import ClassCollector, TextClassificationLearner

NODE, NODE_PROBABILITY = "level_{}", "probability_{}"  # columns of predictions


class HierarchicalClassificationLearner(TextClassificationLearner):
    """A linear layer with an output for each path; predictions follow the most likely nodes."""

    task: HierarchicalClassification

    def choose(self, logits: np.ndarray) -> np.ndarray:
        return choose_paths(logits, self._labels)

    def make_metrics(self, examples: Examples) -> "PathCollector":
        return PathCollector(
            examples, self._labels, self.prediction, tuple(self.new_labels), self.aggregate
        )


class PathCollector(ClassCollector):
    """Predicts the path of the most likely nodes."""

    def choose(self, logits: np.ndarray) -> np.ndarray:
        return choose_paths(logits, self._labels)

    def predictions(self) -> list[dict[str, Any]]:
        """As of classes, with the node of each level and its probability: `level_1`, …"""
        records = super().predictions()
        chosen, hierarchy = self.choose(self.logits), Levels(self._labels)
        probabilities = torch.from_numpy(self.logits).softmax(1).numpy()
        for level in range(1, hierarchy.depth + 1):
            nodes, of = cut(hierarchy.paths, level)
            names = [hierarchy.name(node) for node in nodes]
            inside = of == of[chosen][:, None]  # [N, C]
            for record, node, p in zip(
                records, of[chosen], (probabilities * inside).sum(axis=1), strict=True
            ):
                record |= {
                    NODE.format(level): names[node],
                    NODE_PROBABILITY.format(level): float(p),
                }
        return records

    def report(self) -> HierarchicalReport:
        if self._targets is None:
            raise MissingRole("label")
        predicted, known = self.choose(self.logits), len(self._labels)
        return report(self.logits, self._targets, self._all_labels, predicted, known)


def choose_paths(logits: np.ndarray, labels: tuple[str, ...]) -> np.ndarray:
    """Indices of the predicted labels, int64 [N], of logits, float [N, C]."""
    probabilities = torch.from_numpy(np.asarray(logits, dtype=np.float64)).softmax(1).numpy()
    return likely_paths(probabilities, Levels(labels).paths)
