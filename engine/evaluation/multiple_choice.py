"""Metrics of multiple choice; N examples, E endings of each."""

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from engine.config.task import percent
from engine.evaluation.measures import Measure, ScoredRows, mean_measure, ratio
from engine.evaluation.report import Report
from engine.evaluation.text_classification import cross_entropy


class ChoiceReport(Report):
    """All metrics of one evaluation; 0 without examples."""

    examples: int
    correct: int
    accuracy: float
    random_baseline: float = Field(description="The accuracy of random predictions.")
    loss: float = Field(description="Mean cross entropy, in nats.")

    def metrics(self) -> dict[str, float]:
        return {"accuracy": self.accuracy, "loss": self.loss, "examples": self.examples}

    def lines(self) -> list[str]:
        return [
            f"accuracy {percent(self.accuracy)} ({self.correct} of {self.examples})",
            f"random baseline {percent(self.random_baseline)}, loss {self.loss:.4f}",
        ]


def report(scores: ArrayLike, right: ArrayLike) -> ChoiceReport:
    """Compute all metrics of N examples.

    Args:
        scores: float [N, E]; the highest is chosen, the first of equals.
        right: int [N], from 0 to E - 1.
    """
    values = np.asarray(scores, dtype=np.float64)
    targets = np.asarray(right, dtype=np.int64)
    correct = int((values.argmax(axis=1) == targets).sum())
    return ChoiceReport(
        examples=len(targets),
        correct=correct,
        accuracy=float(ratio(correct, len(targets))),
        random_baseline=1 / values.shape[1],
        loss=cross_entropy(values, targets),
    )


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    return (mean_measure("accuracy", rows.figure("score")),)
