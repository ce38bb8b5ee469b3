"""Metrics of multi-label classification.

C labels, N examples; an example has any number of labels.
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
    average_precision,
    label_scores,
    macro_f1,
    mean,
    mean_measure,
    micro_f1,
    ranking,
    sums_measure,
)
from engine.evaluation.report import Report


class LabelFigures(Spec):
    """One label against its absence; 0 if undefined."""

    label: str
    precision: float
    recall: float
    f1: float
    average_precision: float = Field(description="Mean precision over the cuts of the ranking.")
    support: int
    given: int = Field(description="Number of examples it was predicted for.")


class MultiLabelReport(Report):
    """All metrics of one evaluation."""

    examples: int
    exact_match: float = Field(
        description="Fraction of the examples whose set of labels is correct as a whole."
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
            f"micro F1 {percent(self.f1_micro)}, macro F1 {percent(self.f1_macro)}",
            f"exact match {percent(self.exact_match)} ({self.examples} rows), loss {self.loss:.4f}",
            f"mean average precision {percent(self.average_precision)}",
            *(
                f"{label.label}: precision {percent(label.precision)}, "
                f"recall {percent(label.recall)}, F1 {percent(label.f1)}, "
                f"average precision {percent(label.average_precision)}, support {label.support}"
                for label in self.labels
            ),
        ]

    def never_predicted(self) -> tuple[str, ...]:
        return tuple(label.label for label in self.labels if label.support and not label.given)


def report(
    logits: ArrayLike, true: ArrayLike, labels: Sequence[str], threshold: ArrayLike = 0.5
) -> MultiLabelReport:
    """Compute all metrics of N examples.

    Args:
        logits: float [N, C]; the sigmoid of each is the probability of a label.
        true: bool [N, L], or 0 and 1; from column C on: labels without a logit, which are never
            predicted and have no loss.
        labels: names of the L labels.
        threshold: the lowest probability that predicts a label, between 0 and 1; or one for each
            label, [C].
    """
    truth = np.asarray(true, dtype=bool).reshape(-1, len(labels))
    given = np.asarray(logits, dtype=np.float64)
    given = given.reshape(len(truth), -1 if len(truth) else len(labels))
    scores = np.full(truth.shape, -np.inf)
    scores[:, : given.shape[1]] = given
    prediction = np.zeros(truth.shape, dtype=bool)
    prediction[:, : given.shape[1]] = predict_labels(given, threshold)
    right, support, predicted = (
        (truth & prediction).sum(axis=0),
        truth.sum(axis=0),
        prediction.sum(axis=0),
    )
    by_label = label_scores(right, predicted, support)
    sums = np.concatenate([right, predicted, support]).astype(np.float64)[None]
    pairs = zip(scores.T, truth.T, strict=True)
    precisions = [average_precision(*ranking(*pair)[1:]) for pair in pairs]
    ranked = np.nan_to_num(np.array(precisions, dtype=np.float64), nan=0.0)
    columns = (*by_label, ranked, support, predicted)
    return MultiLabelReport(
        examples=len(truth),
        exact_match=mean((truth == prediction).all(axis=1).astype(np.float64)),
        f1_micro=float(micro_f1(sums, len(labels))[0]),
        f1_macro=float(macro_f1(sums, len(labels), over_all=True)[0]),
        average_precision=mean(ranked),
        loss=mean(binary_cross_entropies(given, truth[:, : given.shape[1]]).ravel()),
        labels=tuple(
            LabelFigures(
                label=label,
                precision=precision,
                recall=recall,
                f1=f1,
                average_precision=ap,
                support=rows,
                given=times,
            )
            for label, precision, recall, f1, ap, rows, times in zip(
                labels, *(column.tolist() for column in columns), strict=True
            )
        ),
    )


def predict_labels(logits: NDArray[np.float64], threshold: ArrayLike) -> NDArray[np.bool_]:
    """The predicted labels, bool [N, C]: those whose probability is at least `threshold`, a number
    or [C]."""
    thresholds = np.asarray(threshold, dtype=np.float64)
    return logits >= np.log(thresholds / (1 - thresholds))


def binary_cross_entropies(
    logits: NDArray[np.float64], true: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """-log p of each true answer, yes or no, float64 [N, C]."""
    with np.errstate(invalid="ignore"):  # a diverged network has a loss of nan or inf
        return np.logaddexp(0, np.where(true, -logits, logits))


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    gold, predicted = rows.members("gold"), rows.members("predicted")
    count = len(rows.labels)
    parts = np.hstack([gold & predicted, predicted, gold])
    micro = sums_measure("f1_micro", parts, rows.labelled, lambda sums: micro_f1(sums, count))
    macro = Measure(
        "f1_macro", micro.kinds, micro.parts, lambda sums: macro_f1(sums, count, over_all=True)
    )
    return micro, macro, mean_measure("exact_match", rows.figure("score"))
