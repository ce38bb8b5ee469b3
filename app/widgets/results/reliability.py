"""Whether probabilities are to be believed: how often predictions of each probability are right."""

from typing import Any, ClassVar

import numpy as np

from app.theme import Role
from app.translation import marked
from app.widgets import numbers
from app.widgets.results.chart import Chart, Series, Zone
from app.widgets.results.chart_picture import ChartPicture
from engine.results.calibration import Bin, ece, reliability

TITLE = marked("Reliability diagram")
BELIEVED = 0.03  # an ECE below it is called good


class ReliabilityPicture(ChartPicture):
    """Bars of accuracy over bins of probability, beside the line where both are equal."""

    key = "reliability"
    title = TITLE
    measure: ClassVar[Any] = staticmethod(reliability)

    def show_measured(self, measured: tuple[Bin, ...]) -> None:
        x = np.array([(one.low + one.high) / 2 for one in measured])
        accuracy = np.array([one.accuracy for one in measured]).reshape(-1, 3)
        ends = np.array([0.0, 1.0])
        bars = Series(
            "bars",
            x,
            accuracy[:, 0],
            low=accuracy[:, 1],
            high=accuracy[:, 2],
            widths=np.array([one.high - one.low for one in measured]),
        )
        chart = Chart(
            self.tr("Probability of the prediction"),
            self.tr("Fraction that is right"),
            (0, 1),
            (0, 1),
            (bars, Series("line", ends, ends, Role.MUTED, dashed=True)),
            tuple(Zone(one.low, one.high, one.conditions, self._sentence(one)) for one in measured),
            tick=lambda value: numbers.percent(value, 0),
        )
        self.show_chart(chart, self._note(measured))

    def _sentence(self, one: Bin) -> str:
        return self.tr("Probability {0}: {1} rows, {2} right").format(
            f"{numbers.percent(one.low, 0)} – {numbers.percent(one.high, 0)}",
            numbers.count(one.count),
            numbers.percent(one.accuracy.value),
        )

    def _note(self, measured: tuple[Bin, ...]) -> str:
        error = ece(measured)
        rows = max(1, sum(one.count for one in measured))
        excess = sum(one.count * (one.confidence - one.accuracy.value) for one in measured) / rows
        if not measured:
            return self.tr("No row has a probability and a label.")
        said = self.tr("Expected calibration error (ECE) {0}.").format(numbers.percent(error))
        if error < BELIEVED:
            said += " " + self.tr("The probabilities can be taken at their word.")
        elif excess > 0:
            said += " " + self.tr(
                "The model is overconfident: it is right less often than it says."
            )
        else:
            said += " " + self.tr(
                "The model is underconfident: it is right more often than it says."
            )
        return said + " " + self.tr("Click a bar to list its rows.")
