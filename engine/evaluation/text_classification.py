"""Metrics of single-label classification.

C classes, N examples; classes are indices from 0 to C - 1, in the order of their labels.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from engine.config import Spec
from engine.config.task import percent
from engine.evaluation.measures import (
    Measure,
    ScoredRows,
    confusion,
    label_scores,
    macro_f1,
    mean,
    mean_measure,
    ratio,
)
from engine.evaluation.report import Report

MAX_MATRIX = 1_000  # classes of a confusion matrix in a report


class ClassFigures(Spec):
    """One class against all others; 0 if undefined."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int = 0


class ClassReport(Report):
    """All metrics of one evaluation."""

    examples: int
    correct: int
    accuracy: float
    f1_macro: float = Field(description="Mean F1 of the classes that occur, true or predicted.")
    loss: float = Field(description="Mean cross entropy, in nats.")
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[int, ...], ...] = Field(
        description=f"True rows over predicted columns; empty for more than {MAX_MATRIX:,} classes."
    )

    def metrics(self) -> dict[str, float]:
        return {
            "accuracy": self.accuracy,
            "f1_macro": self.f1_macro,
            "loss": self.loss,
            "examples": self.examples,
        }

    def lines(self) -> list[str]:
        return [
            f"accuracy {percent(self.accuracy)} ({self.correct} of {self.examples})",
            f"macro F1 {percent(self.f1_macro)}, loss {self.loss:.4f}",
            *(
                f"{item.label}: precision {percent(item.precision)}, "
                f"recall {percent(item.recall)}, F1 {percent(item.f1)}, support {item.support}"
                for item in self.classes
            ),
        ]

    def never_predicted(self) -> tuple[str, ...]:
        return tuple(item.label for item in self.classes if item.support and not item.predicted)


def report(
    logits: ArrayLike,
    true: ArrayLike,
    labels: Sequence[str],
    predicted: NDArray[np.int64] | None = None,
) -> ClassReport:
    """Compute all metrics of N examples.

    Args:
        logits: float [N, C].
        true: int [N]; from C on: classes without a logit, which are never right and have no loss.
        labels: names of the C classes, then of the others.
        predicted: int64 [N]; None: the class with the highest logit, the first of equals.
    """
    classes = np.asarray(true, dtype=np.int64)
    scores = np.asarray(logits, dtype=np.float64)
    scores = scores.reshape(len(classes), -1 if len(classes) else len(labels))
    classes_predicted = scores.argmax(axis=1) if predicted is None else predicted
    counts = confusion(classes, classes_predicted, len(labels))
    right, support, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    by_class = label_scores(right, predicted, support)
    sums = np.concatenate([right, predicted, support]).astype(np.float64)[None]
    return ClassReport(
        examples=len(classes),
        correct=int(right.sum()),
        accuracy=float(ratio(right.sum(), len(classes))),
        f1_macro=float(macro_f1(sums, len(labels))[0]),
        loss=cross_entropy(scores, classes),
        classes=tuple(
            ClassFigures(
                label=label, precision=precision, recall=recall, f1=f1, support=rows, predicted=hits
            )
            for label, precision, recall, f1, rows, hits in zip(
                labels,
                *(column.tolist() for column in (*by_class, support, predicted)),
                strict=True,
            )
        ),
        confusion=tuple(map(tuple, counts.tolist())) if len(labels) <= MAX_MATRIX else (),
    )


def cross_entropy(logits: NDArray[np.float64], true: NDArray[np.int64]) -> float:
    """The mean of `cross_entropies` over the classes with a logit; 0 for no examples."""
    known = true < logits.shape[1]
    return mean(cross_entropies(logits[known], true[known]))


def cross_entropies(logits: NDArray[np.float64], true: NDArray[np.int64]) -> NDArray[np.float64]:
    """-log softmax(logits) [N, C] at the true classes [N], float64 [N]; NaN at others."""
    with np.errstate(invalid="ignore"):  # a diverged network has a loss of nan
        highest = logits.max(axis=1, initial=-np.inf)
        log_sums = np.log(np.exp(logits - highest[:, None]).sum(axis=1)) + highest
        known = true < logits.shape[1]
        at_true = logits[np.arange(len(true)), np.where(known, true, 0)]
        losses: NDArray[np.float64] = np.where(known, log_sums - at_true, np.nan)
        return losses


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """Accuracy, and macro F1 over the classes that occur in a sample, gold or predicted."""
    count = len(rows.labels)
    gold, predicted = rows.codes("gold"), rows.codes("predicted")
    usable = (gold >= 0) & (predicted >= 0)
    pairs, kinds = np.unique(gold[usable] * count + predicted[usable], return_inverse=True)
    gold_classes, predicted_classes = np.divmod(pairs, max(count, 1))
    identity = np.eye(count)
    right = identity[gold_classes] * (gold_classes == predicted_classes)[:, None]
    all_kinds = np.full(len(gold), -1, dtype=np.int64)
    all_kinds[usable] = kinds
    parts = np.hstack([right, identity[predicted_classes], identity[gold_classes]])
    macro = Measure("f1_macro", all_kinds, parts, lambda sums: macro_f1(sums, count))
    return mean_measure("accuracy", rows.figure("score")), macro
