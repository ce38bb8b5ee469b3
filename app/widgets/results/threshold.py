"""Precision and recall over the threshold of a label, PR and ROC curve."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.theme import SPACE, Role
from app.translation import in_language, marked
from app.widgets import buttons, layouts
from app.widgets.buttons import Segments
from app.widgets.charts.chart import Axis, Chart, Line, percent_text
from app.widgets.forms.controls import ComboBox
from app.widgets.results.picture import DRAG, ChartPicture
from app.widgets.text import numbers
from app.widgets.text.labels import plain_menu_text
from engine.config.prediction import PredictionSettings
from engine.results.conditions import Conditions
from engine.results.curves import AtThreshold, Curve, label_curve
from engine.results.fitting import (
    applied_thresholds,
    best_threshold,
    best_thresholds,
    with_thresholds,
)
from engine.results.predictions import PredictionInfo, Predictions

THRESHOLD, PR, ROC = range(3)
MAX_CURVES = 50  # one per label
HALF = 0.5
TOLERANCE = 5e-4  # thresholds that differ less look equal


@dataclass(frozen=True)
class Thresholds:
    """Curves, thresholds in use, and thresholds with the best F1, by label.

    Labels that are not predicted by a threshold, as one of three classes, have only a curve.
    """

    info: PredictionInfo
    curves: tuple[Curve, ...]
    used: dict[str, float]
    best: dict[str, float]


def measure_thresholds(predictions: Predictions) -> Thresholds:
    """Compute the curves, the last label first: of two labels, it is the positive one."""
    info = predictions.info
    curves = tuple(label_curve(predictions, label) for label in info.labels[::-1][:MAX_CURVES])
    return Thresholds(info, curves, applied_thresholds(predictions), best_thresholds(predictions))


class ThresholdPicture(ChartPicture):
    """One label against all others, over the threshold of its probability."""

    key = "threshold"
    title = marked("Threshold, PR and ROC curve")
    measure: ClassVar[Any] = staticmethod(measure_thresholds)

    def __init__(self) -> None:
        super().__init__()
        self.measured: Thresholds | None = None
        self.threshold = HALF
        self.label = ComboBox(self.tr("Label"))
        self.form = Segments(
            [self.tr("Threshold"), self.tr("PR"), self.tr("ROC")], self.tr("Curve")
        )
        self.form.choose(THRESHOLD)
        head = layouts.row((self.label, 1), self.form, spacing=2 * SPACE)
        self.column.insertLayout(0, head)
        self.above = buttons.plain(self.tr("Rows above"), partial(self._choose, Curve.above))
        self.below = buttons.plain(self.tr("Rows below"), partial(self._choose, Curve.below))
        self.best = buttons.quiet(self.tr("Best F1"), self._on_best)
        self.use = buttons.plain(self.tr("Use for predictions"), lambda: self._use(self.threshold))
        self.use_best = buttons.quiet(self.tr("Best F1 for all labels"), self._on_use_best)
        self.reset = buttons.quiet(self.tr("Back to 50 %"), lambda: self._use(HALF))
        for row in ((self.above, self.below, self.best), (self.use, self.use_best, self.reset)):
            self.column.addLayout(layouts.row(*row, layouts.STRETCH, spacing=2 * SPACE))
        self.label.currentIndexChanged.connect(lambda _: self._on_label())
        self.form.chosen.connect(lambda _: self._draw())
        self.view.moved.connect(self._on_moved)

    def show_measured(self, measured: Thresholds) -> None:
        before, self.measured = self.label.currentIndex(), measured
        self.label.blockSignals(True)
        self.label.clear()
        self.label.addItems([plain_menu_text(curve.label[:60]) for curve in measured.curves])
        self.label.setCurrentIndex(max(0, min(before, len(measured.curves) - 1)))
        self.label.blockSignals(False)
        self._on_label()

    def _on_label(self) -> None:
        """Start at the threshold in use."""
        self.threshold = self._used() or HALF
        self._draw()

    def _used(self) -> float | None:
        """The threshold in use; None if the label is not predicted by one."""
        curve = self._curve()
        if curve is None or self.measured is None:
            return None
        return self.measured.used.get(curve.label)

    def _show_use(self) -> None:
        used, measured = self._used(), self.measured
        has_several = measured is not None and len(measured.best) > 1
        self.use.setVisible(used is not None)
        self.use.setEnabled(used is not None and abs(self.threshold - used) > TOLERANCE)
        self.use_best.setVisible(used is not None and has_several)
        self.reset.setVisible(used is not None and abs(used - HALF) > TOLERANCE)

    def _curve(self) -> Curve | None:
        index, curves = self.label.currentIndex(), self.measured.curves if self.measured else ()
        return curves[index] if 0 <= index < len(curves) else None

    def _draw(self) -> None:
        curve = self._curve()
        if curve is None:
            return
        drawn, form = curve.downsample(), self.form.choice()
        if form == PR:
            series: tuple[Line, ...] = (Line("", drawn.recall, drawn.precision),)
            titles = self.tr("Recall"), self.tr("Precision")
        elif form == ROC:
            ends = np.array([0.0, 1.0])
            series = (
                Line("", drawn.false_positive_rate, drawn.recall),
                Line("", ends, ends, role=Role.MUTED),
            )
            titles = self.tr("False positive rate"), self.tr("Recall (true positive rate)")
        else:
            series = (
                Line(self.tr("Precision"), drawn.thresholds, drawn.precision, 0),
                Line(self.tr("Recall"), drawn.thresholds, drawn.recall, 1),
                Line(self.tr("F1"), drawn.thresholds, drawn.f1, 2),
            )
            titles = self.tr("Threshold of the probability"), self.tr("Fraction")
        x, y = (Axis(title, (0, 1), text=percent_text) for title in titles)
        self.show_chart(Chart(x, y, series), self._note(curve), in_language(DRAG))
        self.view.set_threshold(self._threshold_x(curve))
        self._show_use()

    def _rates(self, curve: Curve) -> NDArray[np.float64]:
        """Rising x of each threshold of a curve, float64 [P]."""
        return curve.recall if self.form.choice() == PR else curve.false_positive_rate

    def _threshold_x(self, curve: Curve) -> float | None:
        """x of the threshold; None on a curve without rows."""
        if self.form.choice() == THRESHOLD:
            return self.threshold
        rates = self._rates(curve)
        if not len(rates) or math.isnan(rates[-1]):
            return None
        reached = int((curve.thresholds >= self.threshold).sum())
        return float(rates[reached - 1]) if reached else 0.0

    def _threshold_at(self, curve: Curve, x: float) -> float:
        if self.form.choice() == THRESHOLD:
            return x
        distance = np.abs(self._rates(curve) - x)
        nearest = np.flatnonzero(distance == distance.min())
        # of equal recall the highest precision, else the highest recall
        index = nearest[0] if self.form.choice() == PR else nearest[-1]
        return min(1.0, max(0.0, float(curve.thresholds[index])))

    def _note(self, curve: Curve) -> str:
        area = ""
        if self.form.choice() == PR:
            area = self.tr("Average precision {0} for “{1}”.").format(
                _percent_text(curve.average_precision), curve.label
            )
        elif self.form.choice() == ROC:
            area = self.tr("Area under the ROC curve {0} for “{1}”.").format(
                _percent_text(curve.auc), curve.label
            )
        at: AtThreshold = curve.at(self.threshold)
        text = self.tr("“{0}” at {1} or more: precision {2}, recall {3}, F1 {4}.").format(
            curve.label, numbers.percent(at.threshold), *map(_percent_text, at[1:])
        )
        used = self._used()
        if used is not None and abs(used - HALF) > TOLERANCE:
            text += " " + self.tr("Threshold in use: {0}.").format(numbers.percent(used))
        return f"{area} {text}".strip()

    def _on_moved(self, x: float) -> None:
        curve = self._curve()
        if curve is not None and self._threshold_x(curve) is not None:
            self.threshold = self._threshold_at(curve, x)
            self.view.set_threshold(x)
            self.set_note(self._note(curve), in_language(DRAG))
            self.view.setAccessibleDescription(self.note.text())
            self._show_use()

    def _on_best(self) -> None:
        curve = self._curve()
        best = best_threshold(curve) if curve is not None else None
        if best is not None:
            self.threshold = best
            self._draw()

    def _use(self, threshold: float) -> None:
        if (curve := self._curve()) is not None:
            self._decide({curve.label: threshold})

    def _on_use_best(self) -> None:
        if self.measured is not None:
            self._decide(self.measured.best)

    def _decide(self, thresholds: dict[str, float]) -> None:
        assert self.measured is not None
        info = self.measured.info

        def change(settings: PredictionSettings) -> PredictionSettings:
            return with_thresholds(settings, info, thresholds)

        self.decided.emit(change)

    def _choose(self, side: Callable[[Curve, float], Conditions]) -> None:
        if (curve := self._curve()) is not None:
            self.chosen.emit(side(curve, self.threshold))


def _percent_text(value: float) -> str:
    return "–" if math.isnan(value) else numbers.percent(value)
