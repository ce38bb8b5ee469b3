"""Calibration: the accuracy of predictions by probability, and temperature scaling."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from app.theme import SPACE, Role
from app.translation import marked
from app.widgets import buttons, layouts
from app.widgets.charts.chart import Axis, Bars, Chart, Line, Zone, percent_text
from app.widgets.results.picture import ChartPicture
from app.widgets.text import numbers
from engine.config.prediction import PredictionSettings
from engine.results.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    Bin,
    Temperature,
    ece,
    reliability,
    temperature,
)
from engine.results.fitting import applied_temperature, has_temperature
from engine.results.predictions import Predictions

GOOD_ECE = 0.03  # an ECE below it is called good
MIN_GAIN = 1e-3  # nats per row from which another temperature is worth it


@dataclass(frozen=True)
class Reliability:
    """The bins, the current temperature, and the one that fits the rows best.

    `best` divides the raw logits; `fitted` is relative to the current temperature.
    """

    bins: tuple[Bin, ...]
    applied_temperature: float = 1.0
    fitted: Temperature | None = None

    @property
    def best(self) -> float:
        value = self.applied_temperature * (self.fitted.value if self.fitted is not None else 1.0)
        return min(max(value, MIN_TEMPERATURE), MAX_TEMPERATURE)

    @property
    def has_gain(self) -> bool:
        """True if another temperature lowers the loss of rows that it was not fitted on."""
        fitted = self.fitted
        return fitted is not None and fitted.nll_after < fitted.nll_before - MIN_GAIN


def measure_reliability(predictions: Predictions) -> Reliability:
    """The reliability diagram, and temperature scaling if the task has it."""
    info = predictions.info
    fitted = temperature(predictions) if has_temperature(info.task) else None
    return Reliability(reliability(predictions), applied_temperature(info), fitted)


class ReliabilityPicture(ChartPicture):
    """Bars of accuracy over bins of probability, and the diagonal."""

    key = "reliability"
    title = marked("Reliability diagram")
    measure: ClassVar[Any] = staticmethod(measure_reliability)

    def __init__(self) -> None:
        super().__init__()
        self.measured: Reliability | None = None
        self.use = buttons.plain(self.tr("Use this temperature"), self._on_use)
        self.off = buttons.quiet(self.tr("Turn temperature scaling off"), lambda: self._decide(1.0))
        for button in (self.use, self.off):
            button.hide()
        self.column.addLayout(layouts.row(self.use, self.off, layouts.STRETCH, spacing=2 * SPACE))

    def show_measured(self, measured: Reliability) -> None:
        self.measured = measured
        self.use.setVisible(measured.has_gain)
        self.off.setVisible(measured.applied_temperature != 1)
        bins = measured.bins
        x = np.array([(item.low + item.high) / 2 for item in bins])
        accuracy = np.array([item.accuracy for item in bins]).reshape(-1, 3)
        ends = np.array([0.0, 1.0])
        bars = Bars(
            "",
            x,
            accuracy[:, 0],
            low=accuracy[:, 1],
            high=accuracy[:, 2],
            widths=np.array([item.high - item.low for item in bins]),
        )
        chart = Chart(
            Axis(self.tr("Probability of the prediction"), (0, 1), text=percent_text),
            Axis(self.tr("Fraction correct"), (0, 1), text=percent_text),
            (bars, Line("", ends, ends, role=Role.MUTED)),
            zones=tuple(
                Zone(item.low, item.high, item.conditions, self._sentence(item)) for item in bins
            ),
        )
        hint = self.tr("Click a bar to list its rows.") if bins else ""
        self.show_chart(chart, self._note(bins), hint)

    def _sentence(self, item: Bin) -> str:
        return self.tr("Probability {0}: %Ln row(s), {1} correct", "", item.count).format(
            f"{numbers.percent(item.low, 0)} – {numbers.percent(item.high, 0)}",
            numbers.percent(item.accuracy.value),
        )

    def _note(self, bins: tuple[Bin, ...]) -> str:
        error = ece(bins)
        rows = max(1, sum(item.count for item in bins))
        excess = sum(item.count * (item.confidence - item.accuracy.value) for item in bins) / rows
        if not bins:
            return self.tr("No row has a probability and a label.")
        text = self.tr("Expected calibration error (ECE) {0}.").format(numbers.percent(error))
        if error < GOOD_ECE:
            text += " " + self.tr("Well calibrated.")
        elif excess > 0:
            text += " " + self.tr("Overconfident: accuracy is below the predicted probability.")
        else:
            text += " " + self.tr("Underconfident: accuracy is above the predicted probability.")
        return f"{text} {self._scaling()}".rstrip()

    def _scaling(self) -> str:
        measured = self.measured
        if measured is None or measured.fitted is None:
            return ""
        if measured.has_gain:
            return self.tr(
                "With a temperature of {0} the ECE is {1}, measured on rows it was not fitted on."
            ).format(numbers.decimal(measured.best, 2), numbers.percent(measured.fitted.ece_after))
        if measured.applied_temperature != 1:
            return self.tr("The model predicts at a temperature of {0}.").format(
                numbers.decimal(measured.applied_temperature, 2)
            )
        return ""

    def _on_use(self) -> None:
        if self.measured is not None:
            self._decide(self.measured.best)

    def _decide(self, temperature: float) -> None:
        def change(settings: PredictionSettings) -> PredictionSettings:
            return settings.at_temperature(temperature)

        self.decided.emit(change)
