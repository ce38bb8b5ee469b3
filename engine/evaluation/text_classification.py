"""How well predicted classes fit the true ones.

C classes, N examples; classes are numbers from 0 to C - 1, in the order of their labels.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field

from engine.evaluation.report import Report


class ClassFigures(BaseModel):
    """One class against all others. A figure with nothing to divide by is 0."""

    model_config = ConfigDict(frozen=True)

    label: str
    precision: float
    recall: float
    f1: float
    support: int


class ClassReport(Report):
    """All figures of one evaluation."""

    examples: int
    correct: int
    accuracy: float
    f1_macro: float = Field(description="Mean F1 of the classes that occur, true or predicted.")
    loss: float = Field(description="Mean cross entropy, in nats.")
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[int, ...], ...] = Field(description="True rows over predicted columns.")

    def metrics(self) -> dict[str, float]:
        return {
            "accuracy": self.accuracy,
            "f1_macro": self.f1_macro,
            "loss": self.loss,
            "examples": self.examples,
        }

    def lines(self) -> list[str]:
        return [
            f"accuracy {self.accuracy:.4f} ({self.correct} of {self.examples})",
            f"macro F1 {self.f1_macro:.4f}, loss {self.loss:.4f}",
            *(
                f"{one.label}: precision {one.precision:.4f}, recall {one.recall:.4f}, "
                f"F1 {one.f1:.4f}, support {one.support}"
                for one in self.classes
            ),
        ]

    def never_given(self) -> tuple[str, ...]:
        given = np.array(self.confusion, dtype=np.int64).reshape(-1, len(self.classes)).sum(axis=0)
        pairs = zip(self.classes, given, strict=True)
        return tuple(one.label for one, count in pairs if one.support and not count)


def report(
    logits: ArrayLike,
    true: ArrayLike,
    labels: Sequence[str],
    predicted: NDArray[np.int64] | None = None,
) -> ClassReport:
    """All figures of N examples.

    Args:
        logits: float [N, C].
        true: int [N], from 0 to C - 1.
        labels: names of the C classes.
        predicted: int64 [N]; None: the class with the highest logit, the first of equals.
    """
    scores = np.asarray(logits, dtype=np.float64).reshape(-1, len(labels))
    classes = np.asarray(true, dtype=np.int64)
    given = scores.argmax(axis=1) if predicted is None else predicted
    counts = confusion(classes, given, len(labels))
    right, support, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    precision, recall = _ratio(right, predicted), _ratio(right, support)
    f1 = _ratio(2 * right, support + predicted)
    occurs = support + predicted > 0
    return ClassReport(
        examples=len(classes),
        correct=int(right.sum()),
        accuracy=float(right.sum() / len(classes)) if len(classes) else 0.0,
        f1_macro=float(f1[occurs].mean()) if occurs.any() else 0.0,
        loss=cross_entropy(scores, classes),
        classes=tuple(
            ClassFigures(
                label=label,
                precision=float(precision[number]),
                recall=float(recall[number]),
                f1=float(f1[number]),
                support=int(support[number]),
            )
            for number, label in enumerate(labels)
        ),
        confusion=tuple(tuple(row) for row in counts.tolist()),
    )


def confusion(
    true: NDArray[np.int64], predicted: NDArray[np.int64], classes: int
) -> NDArray[np.int64]:
    """How often each true class (row) was predicted as each class (column), int64 [C, C]."""
    counts = np.bincount(true * classes + predicted, minlength=classes * classes)
    return counts.reshape(classes, classes)


def cross_entropy(logits: NDArray[np.float64], true: NDArray[np.int64]) -> float:
    """The mean of `cross_entropies`; 0 for no examples."""
    return float(cross_entropies(logits, true).mean()) if len(true) else 0.0


def cross_entropies(logits: NDArray[np.float64], true: NDArray[np.int64]) -> NDArray[np.float64]:
    """-log softmax(logits) [N, C] at the true classes [N], float64 [N]."""
    with np.errstate(invalid="ignore"):  # a network that blew up has a loss of nan
        highest = logits.max(axis=1, initial=-np.inf)
        spread = np.log(np.exp(logits - highest[:, None]).sum(axis=1)) + highest
        losses: NDArray[np.float64] = spread - logits[np.arange(len(true)), true]
        return losses


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
