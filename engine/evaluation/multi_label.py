"""How well predicted sets of labels fit the true ones.

C labels, N examples; an example has any number of the labels, none and all included.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field

from engine.evaluation.report import Report


class LabelFigures(BaseModel):
    """One label: whether an example has it. A figure with nothing to divide by is 0."""

    model_config = ConfigDict(frozen=True)

    label: str
    precision: float
    recall: float
    f1: float
    average_precision: float = Field(description="Mean precision over the cuts of the ranking.")
    support: int
    given: int = Field(description="How many examples it was given to.")


class MultiLabelReport(Report):
    """All figures of one evaluation."""

    examples: int
    exact_match: float = Field(
        description="Share of the examples whose set of labels is right as a whole."
    )
    f1_micro: float = Field(description="F1 of all pairs of example and label.")
    f1_macro: float = Field(
        description="Mean F1 of all labels; one that occurs on neither side counts as 0."
    )
    average_precision: float = Field(
        description="Mean over all labels; one that no example has counts as 0."
    )
    loss: float = Field(description="Mean binary cross entropy, in nats.")
    labels: tuple[LabelFigures, ...]

    def metrics(self) -> dict[str, float]:
        return {
            "f1_micro": self.f1_micro,
            "f1_macro": self.f1_macro,
            "exact_match": self.exact_match,
            "average_precision": self.average_precision,
            "loss": self.loss,
            "examples": self.examples,
        }

    def lines(self) -> list[str]:
        return [
            f"micro F1 {self.f1_micro:.4f}, macro F1 {self.f1_macro:.4f} ({self.examples} rows)",
            f"exact match {self.exact_match:.4f}, loss {self.loss:.4f}",
            f"mean average precision {self.average_precision:.4f}",
            *(
                f"{one.label}: precision {one.precision:.4f}, recall {one.recall:.4f}, "
                f"F1 {one.f1:.4f}, average precision {one.average_precision:.4f}, "
                f"support {one.support}"
                for one in self.labels
            ),
        ]

    def never_given(self) -> tuple[str, ...]:
        return tuple(one.label for one in self.labels if one.support and not one.given)


def report(
    logits: ArrayLike, true: ArrayLike, labels: Sequence[str], threshold: ArrayLike = 0.5
) -> MultiLabelReport:
    """All figures of N examples.

    Args:
        logits: float [N, C]; the sigmoid of each is the probability of a label.
        true: bool [N, C], or 0 and 1.
        labels: names of the C labels.
        threshold: the lowest probability that is taken for a yes, between 0 and 1; or one for
            each label, [C].
    """
    scores = np.asarray(logits, dtype=np.float64).reshape(-1, len(labels))
    truth = np.asarray(true, dtype=bool).reshape(-1, len(labels))
    prediction = given(scores, threshold)
    right, support, predicted = (
        (truth & prediction).sum(axis=0),
        truth.sum(axis=0),
        prediction.sum(axis=0),
    )
    precision, recall = _ratio(right, predicted), _ratio(right, support)
    f1 = _ratio(2 * right, support + predicted)
    ranked = np.array(
        [average_precision(scores[:, n], truth[:, n]) for n in range(len(labels))], dtype=np.float64
    )
    return MultiLabelReport(
        examples=len(truth),
        exact_match=float((truth == prediction).all(axis=1).mean()) if len(truth) else 0.0,
        f1_micro=float(2 * right.sum() / max(support.sum() + predicted.sum(), 1)),
        f1_macro=_mean(f1),
        average_precision=_mean(ranked),
        loss=binary_cross_entropy(scores, truth),
        labels=tuple(
            LabelFigures(
                label=label,
                precision=float(precision[number]),
                recall=float(recall[number]),
                f1=float(f1[number]),
                average_precision=float(ranked[number]),
                support=int(support[number]),
                given=int(predicted[number]),
            )
            for number, label in enumerate(labels)
        ),
    )


def given(logits: NDArray[np.float64], threshold: ArrayLike) -> NDArray[np.bool_]:
    """Which labels are predicted, bool [N, C]: those whose probability is not below `threshold`,
    which is one number or [C]."""
    least = np.asarray(threshold, dtype=np.float64)
    predicted: NDArray[np.bool_] = logits >= np.log(least / (1 - least))
    return predicted


def average_precision(scores: NDArray[np.float64], true: NDArray[np.bool_]) -> float:
    """The precision at each cut of the ranking, weighted by the recall it adds, for [N] and [N].

    Equal scores are cut off together, and nan ranks last; 0 where no example is true. This is the
    sum that scikit-learn gives, without interpolation.
    """
    if not true.any():
        return 0.0
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    order = np.argsort(-ranked, kind="stable")
    cuts = np.flatnonzero(np.append(ranked[order][1:] != ranked[order][:-1], True))
    hits = np.cumsum(true[order])[cuts]  # [cuts]
    gained = np.diff(hits, prepend=0) / hits[-1]
    return float((gained * hits / (cuts + 1)).sum())


def binary_cross_entropy(logits: NDArray[np.float64], true: NDArray[np.bool_]) -> float:
    """The mean of `binary_cross_entropies`; 0 for no examples."""
    return float(binary_cross_entropies(logits, true).mean()) if logits.size else 0.0


def binary_cross_entropies(
    logits: NDArray[np.float64], true: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """-log p of the true answers, yes or no, for [N, C] and [N, C]; float64 [N, C]."""
    with np.errstate(invalid="ignore"):  # a network that blew up has a loss of nan or inf
        losses: NDArray[np.float64] = np.logaddexp(0, np.where(true, -logits, logits))
        return losses


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _mean(metrics: NDArray[np.float64]) -> float:
    return float(metrics.mean()) if len(metrics) else 0.0
