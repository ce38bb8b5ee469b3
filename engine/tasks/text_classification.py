"""Single-label classification of a sentence or a pair (Devlin et al. 2019, §4.1).

Shapes: B sequences, C classes, N rows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from engine.config.prediction import PredictionSettings
from engine.config.task import Aggregation, shorten
from engine.config.tasks.text_classification import ClassTask
from engine.data.columns.fit import missing_cells_problem
from engine.data.columns.label_sets import join_labels
from engine.data.columns.roles import MissingRole
from engine.data.columns.spellings import match_labels
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.evaluation.prediction_sets import members
from engine.evaluation.text_classification import ClassReport, cross_entropies, report
from engine.messages.explore.prediction import Predict, Predicted
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.baselines import (
    EPSILON,
    Floats,
    frequencies,
    get_targets,
    log_probabilities,
    logistic_regression,
    tfidf_features,
    whole_text_baseline,
)
from engine.tasks.finite import softmax
from engine.tasks.inputs import Inputs
from engine.tasks.learner import (
    DEFAULT_PREDICTION,
    Baseline,
    Batch,
    Examples,
    Learner,
    LogitsCollector,
    count_targets,
    ranked_labels,
    scaled_cross_entropy,
)
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.whole_text import WholeTextLearner, label_sort_key, label_weights, quote_labels
from engine.tokenizers.tokenizer import Tokenizer

SET = "prediction_set"  # column of predictions
MAX_COLUMNS = 100  # labels with a column of probabilities in predictions


class TextClassificationLearner(WholeTextLearner):
    """A linear layer on the pooled vector of [CLS], with cross-entropy.

    A weighted loss is divided by the weights of the rows, so that it stays a mean.
    """

    task: ClassTask
    term = "classes"

    def fit_labels(self, rows: Rows) -> None:
        counts = Counter(_labels(rows))
        classes = sorted(counts, key=label_sort_key)
        if not self._labels:
            self._labels = tuple(classes)
        if len(classes) < 2:
            description = (
                phrase("all {count} have “{label}”", count=len(rows), label=classes[0])
                if classes
                else phrase("there are none")
            )
            raise StudioError(
                "The training rows need at least two different labels, but {labels}.",
                "Choose another label column, or add rows with another label.",
                labels=description,
            )
        balanced = None
        if self.task.balanced:
            to_model_label = map_labels(set(counts), self._labels)
            counts = Counter({to_model_label[label]: count for label, count in counts.items()})
            # a class without rows weighs 1
            relative = [counts[label] * len(self._labels) / len(rows) for label in self._labels]
            balanced = np.array([1 / frequency if frequency else 1 for frequency in relative])
        self._weights = label_weights(self._labels, self.task.class_weights, balanced)

    def targets(self, rows: Rows) -> np.ndarray | None:
        if rows.labels is None:
            return None
        if missing := sum(not label.strip() for label in rows.labels):
            raise missing_cells_problem("label", missing, len(rows))
        names = map_labels(set(rows.labels), self._labels, self.allows_new_labels)
        ids = {label: index for index, label in enumerate(self.all_labels(names, rows.labels))}
        return np.array([ids[names[x]] for x in rows.labels], dtype=np.int64)

    def target_counts(self, examples: Examples) -> Counter[str]:
        return count_targets(examples.row_targets, self._labels)

    def random_targets(self, count: int, rng: Generator) -> np.ndarray:
        return rng.integers(0, len(self._labels), count)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        return [self._labels[index] for index in batch.targets.tolist()]

    def label_loss(self, logits: Tensor, targets: Tensor, count: float | Tensor) -> Tensor:
        weights, smoothing = self.weights_on(logits.device), self.task.label_smoothing
        return scaled_cross_entropy(logits, targets, count, weights, smoothing)

    def label_count(self, batch: Batch) -> float:
        targets, weights = batch.targets, self._weights
        return len(targets) if weights is None else float(weights[targets.cpu()].sum())

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """Probabilities of all classes, most likely first."""
        logits, passages = self.typed_outputs(checkpoint, inputs, question)  # [1, C]
        predicted = self.choose(logits.cpu().numpy()).tolist()
        probabilities = softmax(logits)[0]
        answer = ranked_labels(
            self.task.kind, self._labels, probabilities, inputs, predicted, passages
        )
        if self.prediction.sets is None:
            return answer
        chosen = label_set(probabilities.cpu().numpy(), self._labels, self.prediction)
        return answer.model_copy(
            update={"prediction_set": chosen, "coverage": self.prediction.sets.coverage}
        )

    def choose(self, logits: np.ndarray) -> np.ndarray:
        """Predicted classes, int64 [N], of float [N, C]."""
        return predict_classes(logits, self.prediction)

    def describe_output(self, output: Tensor) -> dict[str, Any]:
        predicted = int(self.choose(output[None].cpu().numpy())[0])
        return {"label": self._labels[predicted], "value": float(output.softmax(0)[predicted])}

    def baselines(self) -> tuple[Baseline, ...]:
        return (
            Baseline("majority", "Majority", whole_text_baseline(frequencies)),
            Baseline("tfidf", "TF-IDF + logistic regression", whole_text_baseline(_logistic)),
        )

    def make_metrics(self, examples: Examples) -> "ClassCollector":
        return ClassCollector(
            examples, self._labels, self.prediction, tuple(self.new_labels), self.aggregate
        )


class ClassCollector(LogitsCollector):
    """Collects logits; the threshold decides between two classes."""

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

    def report(self) -> ClassReport:
        if self._targets is None:
            raise MissingRole("label")
        return report(self.logits, self._targets, self._all_labels, self.choose(self.logits))

    def choose(self, logits: np.ndarray) -> np.ndarray:
        """Predicted classes, int64 [N], of float [N, C]."""
        return predict_classes(logits, self.settings)

    def predictions(self) -> list[dict[str, Any]]:
        """The class and its probability; those of all classes if there are few; the prediction set
        if the model has such sets."""
        probabilities = torch.from_numpy(self.logits).softmax(1).numpy()
        records = class_records(probabilities, self.choose(self.logits), self._labels)
        if self.settings.sets is not None:
            for record, row in zip(records, probabilities, strict=True):
                record[SET] = join_labels(label_set(row, self._labels, self.settings))
        return records

    def row_predictions(self) -> RowPredictions:
        predicted = self.choose(self.logits)
        return class_predictions(
            self.logits, self._targets, self._all_labels, self.settings, predicted
        )


def class_records(
    probabilities: np.ndarray, predicted: np.ndarray, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Records of float [N, C] and predicted classes, int64 [N]."""
    columns = labels if len(labels) <= MAX_COLUMNS else ()
    return [
        {
            "label": labels[chosen],
            "probability": float(row[chosen]),
            **{f"p({label})": float(p) for label, p in zip(columns, row, strict=False)},
        }
        for row, chosen in zip(probabilities, predicted, strict=True)
    ]


def predict_classes(logits: np.ndarray, settings: PredictionSettings) -> np.ndarray:
    """Predicted classes, int64 [N], of logits divided by the temperature, float [N, C].

    The most likely class; of two, the second if its probability reaches the threshold.
    """
    threshold = settings.threshold
    if logits.shape[1] == 2 and threshold != DEFAULT_PREDICTION.threshold:
        log_odds = logits[:, 1] - logits[:, 0]  # logit of the second class's probability
        reached: np.ndarray = log_odds >= np.log(threshold / (1 - threshold))
        return reached.astype(np.int64)
    best: np.ndarray = logits.argmax(1)
    return best


def label_set(
    probabilities: np.ndarray, labels: Sequence[str], settings: PredictionSettings
) -> tuple[str, ...]:
    """The prediction set of a row, the most likely label first; probabilities are float32 [C]."""
    assert settings.sets is not None
    inside = members(settings.sets, probabilities, labels)
    order = np.argsort(-probabilities, kind="stable")
    return tuple(labels[index] for index in order if inside[index])


def class_predictions(
    logits: np.ndarray,
    targets: np.ndarray | None,
    names: Sequence[str],
    settings: PredictionSettings,
    predicted: np.ndarray | None = None,
) -> RowPredictions:
    """Row predictions of single-label classification.

    Args:
        logits: float32 [N, C], divided by the temperature.
        targets: int64 [N]; None if unlabelled.
        names: names of the C classes, and of others among the targets.
        predicted: int64 [N]; by default as `predict_classes`.
    """
    probabilities = torch.from_numpy(logits).softmax(1).numpy()
    predicted = predict_classes(logits, settings) if predicted is None else predicted
    result = RowPredictions(
        [names[index] for index in predicted],
        probability=probabilities[np.arange(len(predicted)), predicted],
        scores=probabilities,
        settings={"temperature": settings.temperature, "threshold": settings.threshold},
    )
    if targets is None:
        return result
    return replace(
        result,
        gold=[names[index] for index in targets],
        loss=cross_entropies(logits.astype(np.float64), targets),
        score=(predicted == targets).astype(np.float32),
    )


def map_labels(
    labels: set[str], model_labels: tuple[str, ...], allows_new: bool = False
) -> dict[str, str]:
    """Map the labels of a file to those of a model: by name, else by id.

    With `allows_new`, labels that are not the model's stay as they are. Raises StudioError if some
    are not the model's, or all of them.
    """
    mapping, unknown = match_labels(labels, model_labels)
    if allows_new and mapping:
        return {**mapping, **{label: label for label in unknown}}
    if unknown:
        raise StudioError(
            "The file has the label “{unknown}”, but the model knows only {known}.",
            "Choose the right label column, or a model that was trained with these labels.",
            unknown=shorten(min(unknown, key=label_sort_key)),
            known=quote_labels(model_labels),
        )
    return mapping


def _labels(rows: Rows) -> Sequence[str]:
    if rows.labels is None:
        raise MissingRole("label")
    return rows.labels


def _logistic(learner: Learner, train: Rows, rows: Rows) -> Floats:
    targets = get_targets(learner, train)
    features, new_features = tfidf_features(train, rows, len(learner.labels))
    log_p = np.full((len(rows), len(learner.labels)), np.log(EPSILON))
    model = logistic_regression().fit(features, targets)
    log_p[:, model.classes_] = log_probabilities(model.predict_proba(new_features))
    return log_p
