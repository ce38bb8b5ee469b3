"""The no-answer threshold of question answering: F1 and exact match over its value."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from app.theme import SPACE
from app.translation import in_language, marked
from app.widgets import buttons, layouts
from app.widgets.charts.chart import Axis, Chart, Line
from app.widgets.results.picture import DRAG, ChartPicture
from app.widgets.text import numbers
from engine.config.prediction import PredictionSettings
from engine.results.answers import ThresholdCurve, threshold_curve
from engine.results.predictions import Predictions

MAX_POINTS = 2_000  # per drawn curve
TOLERANCE = 5e-3  # thresholds that differ less look equal


@dataclass(frozen=True)
class NoAnswer:
    """The curve, None if every question has an answer, and the threshold in use."""

    curve: ThresholdCurve | None
    used: float


def measure_no_answer(predictions: Predictions) -> NoAnswer:
    used = predictions.info.settings.get("no_answer_threshold", 0.0)
    return NoAnswer(threshold_curve(predictions), used)


class NoAnswerPicture(ChartPicture):
    """F1 and exact match over the threshold above which a question gets no answer."""

    key = "no-answer"
    title = marked("No-answer threshold")
    measure: ClassVar[Any] = staticmethod(measure_no_answer)

    def __init__(self) -> None:
        super().__init__()
        self.measured: NoAnswer | None = None
        self.threshold = 0.0
        self.withheld = buttons.plain(self.tr("Rows without answer"), self._on_withheld)
        self.best = buttons.quiet(self.tr("Best F1"), self._on_best)
        self.use = buttons.plain(self.tr("Use for predictions"), self._on_use)
        self.column.addLayout(
            layouts.row(self.withheld, self.best, self.use, layouts.STRETCH, spacing=2 * SPACE)
        )
        self.view.moved.connect(self._on_moved)

    def show_measured(self, measured: NoAnswer) -> None:
        self.measured, curve = measured, measured.curve
        for button in (self.withheld, self.best, self.use):
            button.setVisible(curve is not None)
        if curve is None:
            self.view.threshold = None
            self.show_chart(self._chart((0.0, 1.0), ()), self._note())
            return
        indices = np.unique(np.linspace(0, len(curve.thresholds) - 1, MAX_POINTS).astype(np.int64))
        x = curve.thresholds[indices]
        low, high = float(x[0]), float(x[-1])
        low, high = min(low, measured.used), max(high, measured.used)
        ends = (low, high) if low < high else (low - 1, high + 1)
        series = (
            Line(self.tr("F1"), x, curve.f1[indices], 0),
            Line(self.tr("Exact match"), x, curve.exact_match[indices], 1),
        )
        self.view.threshold = self.threshold = measured.used
        self.show_chart(self._chart(ends, series), self._note(), in_language(DRAG))
        self._show_use()

    def _chart(self, ends: tuple[float, float], series: tuple[Line, ...]) -> Chart:
        y = Axis(self.tr("Mean over the questions"), (0, 1))
        return Chart(Axis(self.tr("No-answer threshold"), ends), y, series)

    def _note(self) -> str:
        assert self.measured is not None
        curve = self.measured.curve
        if curve is None:
            return self.tr("Every question has an answer, so there is no threshold.")
        f1, exact = curve.at(self.threshold)
        return self.tr(
            "“No answer” if its score exceeds the best answer by more than {0}: F1 "
            "{1}, exact match {2}. The model uses {3}."
        ).format(
            numbers.decimal(self.threshold, 2),
            numbers.percent(f1),
            numbers.percent(exact),
            numbers.decimal(self.measured.used, 2),
        )

    def _show_use(self) -> None:
        assert self.measured is not None
        self.use.setEnabled(abs(self.threshold - self.measured.used) > TOLERANCE)

    def _on_moved(self, threshold: float) -> None:
        if self.measured is not None and self.measured.curve is not None:
            self.threshold = threshold
            self.view.set_threshold(threshold)
            self.set_note(self._note(), in_language(DRAG))
            self.view.setAccessibleDescription(self.note.text())
            self._show_use()

    def _on_best(self) -> None:
        if self.measured is not None and self.measured.curve is not None:
            self._on_moved(self.measured.curve.best)

    def _on_withheld(self) -> None:
        if self.measured is not None and self.measured.curve is not None:
            self.chosen.emit(self.measured.curve.withheld(self.threshold))

    def _on_use(self) -> None:
        threshold = self.threshold

        def change(settings: PredictionSettings) -> PredictionSettings:
            values = settings.model_dump() | {"no_answer_threshold": threshold}
            return PredictionSettings.model_validate(values)

        self.decided.emit(change)
