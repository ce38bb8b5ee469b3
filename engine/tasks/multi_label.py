"""Any number of labels for a sentence or a pair, each with its own probability.

Shapes: B sequences, C labels.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from engine.config.prediction import PredictionSettings
from engine.config.task import Aggregation
from engine.config.tasks.multi_label import MultiLabel
from engine.data.columns.label_sets import join_labels, parse_flags, parse_label_sets
from engine.data.columns.roles import MissingRole
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.evaluation.multi_label import (
    MultiLabelReport,
    binary_cross_entropies,
    predict_labels,
    report,
)
from engine.messages.explore.prediction import Predict, Predicted
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.baselines import (
    Floats,
    frequencies,
    get_targets,
    log_odds,
    logistic_regression,
    tfidf_features,
    whole_text_baseline,
)
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs
from engine.tasks.learner import (
    Baseline,
    Batch,
    Examples,
    Learner,
    LogitsCollector,
    ranked_labels,
)
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.text_classification import map_labels
from engine.tasks.whole_text import WholeTextLearner, label_sort_key, label_weights
from engine.tokenizers.tokenizer import Tokenizer


class MultiLabelLearner(WholeTextLearner):
    """A linear layer on the pooled vector of [CLS], and binary cross-entropy for each label.

    The weight of a label applies to its positive targets; the loss is the mean over all pairs of
    row and label.
    """

    task: MultiLabel
    term = "labels"

    def fit_labels(self, rows: Rows) -> None:
        sets = self._sets(rows)
        if sets is None:
            raise MissingRole("label")
        used = {label for labels in sets for label in labels}
        if not used:
            raise StudioError(
                "No training row has a label.",
                "Choose another label column, or add rows with labels.",
            )
        if not self._labels:
            names = used if rows.flags is None else rows.flags  # flags without rows are labels too
            self._labels = tuple(sorted(names, key=label_sort_key))
        balanced = None
        if self.task.balanced:
            targets = self._multi_hot(sets)
            counts = targets.sum(axis=0)
            # a label without rows weighs 1
            balanced = np.where(counts > 0, (len(sets) - counts) / np.maximum(counts, 1), 1)
            balanced = np.where(balanced > 0, balanced, 1)
        self._weights = label_weights(self._labels, self.task.class_weights, balanced)

    def targets(self, rows: Rows) -> np.ndarray | None:
        sets = self._sets(rows)
        return None if sets is None else self._multi_hot(sets)

    def target_counts(self, examples: Examples) -> Counter[str]:
        targets = examples.row_targets
        if targets is None:
            return Counter()
        counts = targets.sum(axis=0).astype(int).tolist()
        return Counter({name: n for name, n in zip(self._labels, counts, strict=True) if n})

    def _multi_hot(self, sets: list[tuple[str, ...]]) -> np.ndarray:
        """Multi-hot labels, float32 [rows, C], with further columns for new labels."""
        given = [label for labels in sets for label in labels]
        names = map_labels(set(given), self._labels, self.allows_new_labels)
        ids = {label: index for index, label in enumerate(self.all_labels(names, given))}
        targets = np.zeros((len(sets), len(ids)), dtype=np.float32)
        for row, labels in enumerate(sets):
            targets[row, [ids[names[label]] for label in labels]] = 1
        return targets

    def _sets(self, rows: Rows) -> list[tuple[str, ...]] | None:
        """Labels of each row; None if unlabelled."""
        if rows.flags is not None:
            flags = {
                name: parse_flags(name, cells, rows.lines) for name, cells in rows.flags.items()
            }
            indices = range(len(rows))
            return [tuple(name for name, yes in flags.items() if yes[row]) for row in indices]
        return None if rows.labels is None else parse_label_sets(rows.labels, self._labels)

    def random_targets(self, count: int, rng: Generator) -> np.ndarray:
        return rng.integers(0, 2, (count, len(self._labels))).astype(np.float32)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        sets = [
            [label for label, yes in zip(self._labels, row, strict=True) if yes]
            for row in batch.targets.tolist()
        ]
        return [", ".join(labels) or phrase("no label") for labels in sets]

    def label_loss(self, logits: Tensor, targets: Tensor, count: float | Tensor) -> Tensor:
        weights = self.weights_on(logits.device)
        summed = F.binary_cross_entropy_with_logits(
            logits, targets, reduction="sum", pos_weight=weights
        )
        return summed / count

    def label_count(self, batch: Batch) -> float:
        return batch.targets.numel()

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """Probabilities of all labels, most likely first."""
        outputs, passages = self.typed_outputs(checkpoint, inputs, question)  # [1, C]
        logits = require_finite(outputs)
        chosen = predict_labels(logits.cpu().numpy(), thresholds(self.prediction, self._labels))
        predicted = np.flatnonzero(chosen[0]).tolist()
        return ranked_labels(
            self.task.kind, self._labels, logits[0].sigmoid(), inputs, predicted, passages
        )

    def describe_output(self, output: Tensor) -> dict[str, Any]:
        """The most probable of the predicted labels; of all if none is predicted."""
        probabilities, limits = output.sigmoid(), thresholds(self.prediction, self._labels)
        chosen = torch.from_numpy(predict_labels(output[None].cpu().numpy(), limits)[0])
        among = torch.where(chosen, probabilities, -1.0) if chosen.any() else probabilities
        best = int(among.argmax())
        return {"label": self._labels[best], "value": float(probabilities[best])}

    def baselines(self) -> tuple[Baseline, ...]:
        return (
            Baseline("majority", "Majority", whole_text_baseline(frequencies)),
            Baseline("tfidf", "TF-IDF + logistic regression", whole_text_baseline(_fit_each_label)),
        )

    def make_metrics(self, examples: Examples) -> "LabelsCollector":
        return LabelsCollector(
            examples, self._labels, self.prediction, tuple(self.new_labels), self.aggregate
        )


def thresholds(settings: PredictionSettings, labels: Sequence[str]) -> np.ndarray:
    """Threshold of each label, float64 [C]."""
    return np.array([settings.get_threshold(name, tuple(labels), True) for name in labels])


class LabelsCollector(LogitsCollector):
    """Predicts the labels whose probability reaches their threshold."""

    def __init__(
        self,
        examples: Examples,
        labels: tuple[str, ...],
        settings: PredictionSettings,
        new_labels: tuple[str, ...] = (),
        aggregate: Aggregation = "mean",
    ) -> None:
        super().__init__(examples, len(labels), settings, aggregate)
        self._labels, self._all_labels = labels, (*labels, *new_labels)
        self._thresholds = thresholds(settings, labels)  # [C]

    def report(self) -> MultiLabelReport:
        if self._targets is None:
            raise MissingRole("label")
        return report(self.logits, self._targets, self._all_labels, self._thresholds)

    def _probabilities(self) -> NDArray[np.float32]:
        """float32 [N, C], rounded from float64: the last bit of a float32 depends on N."""
        return torch.from_numpy(self.logits).double().sigmoid().float().numpy()

    def predictions(self) -> list[dict[str, Any]]:
        chosen = predict_labels(self.logits.astype(np.float64), self._thresholds)
        return set_records(self._probabilities(), chosen, self._labels)

    def row_predictions(self) -> RowPredictions:
        """The probability of a set is the product over all labels, present or absent."""
        logits = self.logits.astype(np.float64)  # [N, C]
        probabilities = self._probabilities()  # [N, C]
        chosen = predict_labels(logits, self._thresholds)  # [N, C]
        predicted, thresholds = self._sets(chosen), self._thresholds.tolist()
        result = RowPredictions(
            [", ".join(labels) for labels in predicted],
            probability=np.where(chosen, probabilities, 1 - probabilities).prod(axis=1),
            scores=probabilities,
            details=[_details({"predicted": labels}) for labels in predicted],
            settings={"temperature": self.settings.temperature}
            | {f"threshold({name})": t for name, t in zip(self._labels, thresholds, strict=True)},
        )
        if self._targets is None:
            return result
        true = self._targets > 0
        gold, count = self._sets(true), len(self._labels)
        known, is_new = true[:, :count], true[:, count:].any(axis=1)
        return replace(
            result,
            gold=[", ".join(labels) for labels in gold],
            loss=binary_cross_entropies(logits, known).mean(axis=1),
            score=((chosen == known).all(axis=1) & ~is_new).astype(np.float32),
            details=[
                _details({"gold": true, "predicted": labels})
                for true, labels in zip(gold, predicted, strict=True)
            ],
        )

    def _sets(self, chosen: np.ndarray) -> list[list[str]]:
        """Labels of each row, for bool [N, C]."""
        return [[self._all_labels[n] for n in np.flatnonzero(row)] for row in chosen]


def set_records(
    probabilities: np.ndarray, chosen: np.ndarray, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Records of float [N, C] and the predicted labels, bool [N, C]."""
    return [
        {"labels": join_labels([labels[n] for n in np.flatnonzero(predicted).tolist()])}
        | {f"p({label})": float(p) for label, p in zip(labels, row, strict=True)}
        for predicted, row in zip(chosen, probabilities, strict=True)
    ]


def _details(sets: dict[str, list[str]]) -> str:
    return json.dumps(sets, ensure_ascii=False)


def _fit_each_label(learner: Learner, train: Rows, rows: Rows) -> Floats:
    """A regression for each label; constant labels get the log odds of their value."""
    targets = get_targets(learner, train)
    features, new_features = tfidf_features(train, rows, len(learner.labels))
    scores = np.zeros((len(rows), len(learner.labels)))
    for label, column in enumerate(targets.T):
        if column.min() == column.max():
            scores[:, label] = log_odds(np.array([column[0]]))[0]
        else:
            model = logistic_regression().fit(features, column)
            scores[:, label] = model.decision_function(new_features)
    return scores
