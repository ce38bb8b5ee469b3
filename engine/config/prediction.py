"""Settings that turn outputs of a fine-tuned model into predictions, chosen after training."""

import math
from typing import Annotated, Literal

from pydantic import Field

from engine.config import Spec

Threshold = Annotated[float, Field(gt=0, lt=1)]


class PredictionSets(Spec):
    """Prediction sets of classes, calibrated on labelled rows: each has all likely labels.

    Args:
        coverage: probability that the set of a new row contains the true label.
        by_class: this holds for the rows of each class, not only for all rows together.
        rows: calibration rows.
        least: the lowest probability, at the temperature, that puts each label into a set.
    """

    coverage: float = Field(gt=0, lt=1)
    by_class: bool = False
    rows: int = Field(ge=1)
    least: dict[str, Annotated[float, Field(ge=0, le=1)]]

    @property
    def share(self) -> str:
        """The coverage as a text: 90 %."""
        return percent_text(self.coverage)


class PredictionSettings(Spec):
    """Thresholds, a temperature and prediction sets; settings of other tasks are ignored.

    Args:
        temperature: divides logits before the softmax (Guo et al. 2017).
        threshold: with two classes, the lowest probability that predicts the second one.
        thresholds: with several labels, the lowest probability that predicts each; 0.5 by default.
        no_answer_threshold: how much higher “no answer” must score than the best answer to be
            predicted; None: as in the job.
        activation: of the number that a regression outputs, as of a cross-encoder.
        unsure_below: predictions less probable than this are marked as unsure; 0: none.
        sets: prediction sets, of classes; None: none.
    """

    temperature: float = Field(1.0, ge=0.05, le=20)
    threshold: Threshold = 0.5
    thresholds: dict[str, Threshold] = Field(default_factory=dict)
    no_answer_threshold: float | None = Field(None, ge=-1e6, le=1e6)
    activation: Literal["identity", "sigmoid"] = "identity"
    unsure_below: float = Field(0.0, ge=0, lt=1)
    sets: PredictionSets | None = None

    @property
    def is_default(self) -> bool:
        return self == PredictionSettings()

    def at_temperature(self, temperature: float) -> "PredictionSettings":
        """A copy with another temperature, and thresholds that predict the same rows.

        `unsure_below` stays: the user chose it as a probability. Prediction sets do not: they
        depend on all probabilities of the calibration rows.
        """
        factor = self.temperature / temperature
        return PredictionSettings(
            temperature=temperature,
            threshold=_rescale(self.threshold, factor),
            thresholds={label: _rescale(value, factor) for label, value in self.thresholds.items()},
            no_answer_threshold=self.no_answer_threshold,
            activation=self.activation,
            unsure_below=self.unsure_below,
            sets=self.sets if factor == 1 else None,
        )

    def get_threshold(self, label: str, labels: tuple[str, ...], is_multi_label: bool) -> float:
        """The threshold of a label; `is_multi_label`: labels have independent thresholds."""
        if is_multi_label:
            return self.thresholds.get(label, 0.5)
        return self.threshold if label == labels[-1] else 1 - self.threshold

    def with_threshold(
        self, label: str, threshold: float, labels: tuple[str, ...], is_multi_label: bool
    ) -> "PredictionSettings":
        """A copy with another threshold of a label."""
        if is_multi_label:
            changed: dict[str, object] = {"thresholds": self.thresholds | {label: threshold}}
        else:
            changed = {"threshold": threshold if label == labels[-1] else 1 - threshold}
        return PredictionSettings.model_validate(self.model_dump() | changed)


def percent_text(fraction: float) -> str:
    """A chosen proportion, with the digits that it needs: 90 %, 97.5 %."""
    return f"{100 * fraction:.4g} %"


def _rescale(threshold: float, factor: float) -> float:
    """Multiply the logit of a threshold by `factor`."""
    if factor == 1 or threshold == 0.5:
        return threshold
    logit = math.log(threshold / (1 - threshold)) * factor
    return min(max(1 / (1 + math.exp(-logit)), 1e-9), 1 - 1e-9)
