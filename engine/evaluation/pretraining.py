"""Metrics of masked-language modelling and next-sentence prediction."""

import numpy as np
from pydantic import Field

from engine.config.task import percent
from engine.evaluation.measures import Measure, ScoredRows, mean_measure
from engine.evaluation.report import Report


class PretrainingReport(Report):
    """All metrics of one evaluation; 0 if undefined."""

    tokens: int = Field(description="Number of predicted tokens.")
    pairs: int = Field(description="Number of pairs of segments; 0 without NSP.")
    loss_mlm: float = Field(description="Mean cross entropy of the tokens, in nats.")
    loss_nsp: float = Field(description="Mean cross entropy of the pairs, in nats.")
    accuracy: float = Field(description="Fraction of the tokens whose top prediction is correct.")
    top5: float = Field(
        description="Fraction of the tokens that are among the five top predictions."
    )
    nsp_accuracy: float

    @property
    def loss(self) -> float:
        return self.loss_mlm + self.loss_nsp if self.pairs else self.loss_mlm

    def metrics(self) -> dict[str, float]:
        always = {"loss": self.loss, "accuracy": self.accuracy, "top5": self.top5}
        pairs = {
            "loss_mlm": self.loss_mlm,
            "loss_nsp": self.loss_nsp,
            "nsp_accuracy": self.nsp_accuracy,
        }
        return always | (pairs if self.pairs else {}) | {"examples": self.tokens}

    def lines(self) -> list[str]:
        lines = [
            f"loss {self.loss:.4f} ({self.tokens} tokens)",
            f"accuracy {percent(self.accuracy)}, top-5 accuracy {percent(self.top5)}",
        ]
        if self.pairs:
            lines.append(f"NSP loss {self.loss_nsp:.4f}, NSP accuracy {percent(self.nsp_accuracy)}")
        return lines


def report(
    tokens: float,
    loss: float,
    right: float,
    in_top5: float,
    pairs: float = 0,
    pair_loss: float = 0,
    right_pairs: float = 0,
) -> PretrainingReport:
    """All metrics, from sums over the predicted tokens and over the pairs."""
    return PretrainingReport(
        tokens=int(tokens),
        pairs=int(pairs),
        loss_mlm=loss / max(tokens, 1),
        loss_nsp=pair_loss / max(pairs, 1),
        accuracy=right / max(tokens, 1),
        top5=in_top5 / max(tokens, 1),
        nsp_accuracy=right_pairs / max(pairs, 1),
    )


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """Loss, accuracy and top-5 accuracy of masked tokens.

    With next-sentence prediction, the loss of masked tokens is only a part of the loss.
    """
    loss = "loss_mlm" if "loss_mlm" in rows.metrics else "loss"
    return (
        mean_measure(loss, rows.figure("loss"), higher_is_better=False),
        mean_measure("accuracy", rows.figure("score")),
        mean_measure("top5", [row.get("top5", np.nan) for row in rows.details]),
    )
