"""Coverage–accuracy curve: accuracy of the answered rows, and the threshold of unsure ones."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.theme import SPACE
from app.translation import in_language, marked
from app.widgets import buttons, layouts
from app.widgets.charts.chart import Axis, Chart, Line, percent_text
from app.widgets.results.picture import ChartPicture
from app.widgets.text import numbers
from engine.config.prediction import PredictionSettings
from engine.results.conditions import Conditions, Rows
from engine.results.curves import Curve
from engine.results.predictions import Predictions
from engine.results.selective import certainties, coverage, coverage_curve, threshold_at

DRAG = marked("Drag the point, or use the arrow keys.")


@dataclass(frozen=True)
class Coverage:
    """The curve, the certainty of each row and its number, and the threshold in use."""

    curve: Curve
    certainties: NDArray[Any]  # [N]
    rows: NDArray[np.int64]  # [N]
    used: float

    def unsure(self, threshold: float) -> Conditions:
        """The rows below a threshold."""
        return (Rows(rows=tuple(self.rows[self.certainties < threshold].tolist())),)


def measure_coverage(predictions: Predictions) -> Coverage:
    return Coverage(
        coverage_curve(predictions),
        certainties(predictions),
        predictions.table["row"].to_numpy(),
        predictions.info.settings.get("unsure_below", 0.0),
    )


class CoveragePicture(ChartPicture):
    """Accuracy over the fraction of rows that are sure enough; the point sets the threshold."""

    key = "coverage"
    title = marked("Coverage and accuracy")
    measure: ClassVar[Any] = staticmethod(measure_coverage)

    def __init__(self) -> None:
        super().__init__()
        self.measured: Coverage | None = None
        self.index = -1  # of the last row that is answered, on the curve
        self.threshold = 0.0
        self.unsure = buttons.plain(self.tr("Unsure rows"), self._on_unsure)
        self.use = buttons.plain(
            self.tr("Use for predictions"), lambda: self._decide(self.threshold)
        )
        self.reset = buttons.quiet(self.tr("Answer all rows"), lambda: self._decide(0.0))
        row = layouts.row(self.unsure, self.use, self.reset, layouts.STRETCH, spacing=2 * SPACE)
        self.column.addLayout(row)
        self.view.moved.connect(self._on_moved)

    def show_measured(self, measured: Coverage) -> None:
        self.measured, curve = measured, measured.curve
        drawn = curve.downsample()
        accuracy = drawn.precision
        low = float(accuracy.min(initial=1.0))
        chart = Chart(
            Axis(self.tr("Coverage: fraction of rows answered"), (0, 1), text=percent_text),
            Axis(self.tr("Accuracy of these rows"), (max(0, low - 0.05), 1), text=percent_text),
            (Line("", coverage(drawn), accuracy),) if len(drawn.thresholds) else (),
        )
        self.show_chart(chart, "")
        self._go_to(int((curve.thresholds >= measured.used).sum()) - 1)

    def _go_to(self, index: int) -> None:
        """Move the point to an index of the curve."""
        assert self.measured is not None
        curve = self.measured.curve
        has_rows = bool(len(curve.thresholds))
        for button in (self.unsure, self.use, self.reset):
            button.setVisible(has_rows)
        if not has_rows:
            self.view.set_threshold(None)
            self.set_note(self.tr("No row has a probability and a label."))
            return
        self.index = min(max(index, 0), len(curve.thresholds) - 1)
        self.threshold = threshold_at(curve, self.index)
        x, y = float(coverage(curve)[self.index]), float(curve.precision[self.index])
        self.view.set_threshold(x, y)
        self.set_note(self._note(x, y), in_language(DRAG))
        self.view.setAccessibleDescription(self.note.text())
        used = self.measured.used
        self.use.setEnabled(self.index != int((curve.thresholds >= used).sum()) - 1)
        self.unsure.setEnabled(self.threshold > 0)
        self.reset.setVisible(used > 0)

    def _note(self, covered: float, accuracy: float) -> str:
        assert self.measured is not None
        curve = self.measured.curve
        rows = curve.positives + curve.negatives
        everything = numbers.percent(curve.positives / rows)
        if self.threshold <= 0:
            text = self.tr("All rows are answered: accuracy {0}.").format(everything)
        else:
            text = self.tr(
                "Unsure below {0}: {1} of the rows are answered, with accuracy {2}; all rows have "
                "{3}."
            ).format(
                numbers.percent(self.threshold),
                numbers.percent(covered),
                numbers.percent(accuracy),
                everything,
            )
        if self.measured.used > 0:
            text += " " + self.tr("The model is unsure below {0}.").format(
                numbers.percent(self.measured.used)
            )
        return text

    def _on_moved(self, x: float) -> None:
        """Go to the nearest point, or at least one further."""
        if self.measured is None or not len(self.measured.curve.thresholds):
            return
        covered = coverage(self.measured.curve)
        nearest = int(np.abs(covered - x).argmin())
        if nearest == self.index:
            nearest += int(np.sign(x - covered[self.index]))
        self._go_to(nearest)

    def _on_unsure(self) -> None:
        if self.measured is not None:
            self.chosen.emit(self.measured.unsure(self.threshold))

    def _decide(self, threshold: float) -> None:
        def change(settings: PredictionSettings) -> PredictionSettings:
            return settings.model_copy(update={"unsure_below": threshold})

        self.decided.emit(change)
