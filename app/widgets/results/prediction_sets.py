"""Prediction sets: rows by the number of labels in their set; the coverage is chosen here."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox

from app.translation import marked, translated
from app.widgets import buttons, layouts
from app.widgets.charts.chart import Axis, Bars, Chart, Zone, percent_text
from app.widgets.forms.controls import ProbabilityBox
from app.widgets.results.picture import ChartPicture
from app.widgets.text.labels import Text
from engine.config.prediction import PredictionSets, PredictionSettings
from engine.errors import StudioError
from engine.results.conditions import Rows
from engine.results.fitting import applied_temperature
from engine.results.prediction_sets import (
    SetFigures,
    covered_sentence,
    set_figures,
    sets_sentence,
    sizes_sentence,
    with_sets,
)
from engine.results.predictions import Predictions

COVERAGE = 0.9  # until another one is chosen


@dataclass(frozen=True)
class Sets:
    """Predictions, the sets that are shown or why there are none, and their figures."""

    predictions: Predictions
    sets: PredictionSets | None = None
    figures: SetFigures | None = None
    problem: str = ""

    @property
    def can_choose(self) -> bool:
        return self.predictions.info.part == "validation"

    @property
    def used(self) -> PredictionSets | None:
        return self.predictions.info.sets

    def with_coverage(self, coverage: float, by_class: bool) -> "Sets":
        """Sets calibrated on these validation rows."""
        settings = PredictionSettings(temperature=applied_temperature(self.predictions.info))
        try:
            sets = with_sets(settings, self.predictions, coverage, by_class).sets
        except StudioError as error:
            text = f"{translated(error.problem)} {translated(error.advice)}"
            return Sets(self.predictions, problem=text)
        assert sets is not None
        return Sets(self.predictions, sets, set_figures(self.predictions, sets))


def measure_sets(predictions: Predictions) -> Sets:
    """The sets of the model; on validation rows, else those that it could use."""
    used, start = predictions.info.sets, Sets(predictions)
    if used is not None:
        return Sets(predictions, used, set_figures(predictions, used))
    return start.with_coverage(COVERAGE, by_class=False) if start.can_choose else start


class PredictionSetsPicture(ChartPicture):
    """Rows over the number of labels in their prediction set."""

    key = "sets"
    title = marked("Prediction sets")
    measure: ClassVar[Any] = staticmethod(measure_sets)

    def __init__(self) -> None:
        super().__init__()
        self.measured: Sets | None = None
        self.coverage = ProbabilityBox(self.tr("Rows whose set contains the true label"), COVERAGE)
        self.coverage.setRange(0.5, 0.999)
        self.coverage.valueChanged.connect(self._on_chosen)
        self.by_class = QCheckBox(self.tr("For each label"))
        self.by_class.toggled.connect(self._on_chosen)
        self.use = buttons.plain(self.tr("Use for predictions"), self._on_use)
        self.off = buttons.quiet(self.tr("Turn sets off"), self._on_off)
        self.coverage_title = Text(self.tr("Coverage"), wraps=False)
        chosen = (self.coverage_title, self.coverage, self.by_class, self.use, self.off)
        self.column.addLayout(layouts.wrap(*chosen))

    def show_measured(self, measured: Sets) -> None:
        used = measured.used
        shown = used or PredictionSets(coverage=COVERAGE, rows=1, least={})
        with QSignalBlocker(self.coverage), QSignalBlocker(self.by_class):
            self.coverage.setValue(shown.coverage)
            self.by_class.setChecked(shown.by_class)
        self._show(measured)

    def _show(self, measured: Sets) -> None:
        self.measured, figures = measured, measured.figures
        for widget in (self.coverage_title, self.coverage, self.by_class, self.use):
            widget.setVisible(measured.can_choose)
        self.use.setEnabled(measured.sets not in (None, measured.used))
        self.off.setVisible(measured.used is not None)
        rows = np.zeros(0, np.int64) if figures is None else np.bincount(figures.sizes)
        x, total = np.arange(len(rows), dtype=float), max(1, int(rows.sum()))
        bars = Bars("", x, rows / total, widths=np.full(len(rows), 0.8))
        chart = Chart(
            Axis(self.tr("Labels in the set"), (-0.5, max(1, len(rows) - 1) + 0.5), integer=True),
            Axis(self.tr("Fraction of rows"), (0, 1), text=percent_text),
            (bars,) if len(rows) else (),
            zones=tuple(
                Zone(size - 0.5, size + 0.5, (), self._sentence(size, int(count)))
                for size, count in enumerate(rows)
            ),
        )
        hint = self.tr("Click a bar to list its rows.") if len(rows) else ""
        self.show_chart(chart, self._note(), hint)

    def _sentence(self, size: int, rows: int) -> str:
        return self.tr("Sets of {0}: %Ln row(s)", "", rows).format(size)

    def _note(self) -> str:
        assert self.measured is not None
        sets, figures = self.measured.sets, self.measured.figures
        if sets is None or figures is None:
            return self.measured.problem or self.tr(
                "Choose prediction sets on the validation rows, then evaluate these rows again."
            )
        measured = covered_sentence(figures.covered)
        sentences = (sets_sentence(sets), measured, sizes_sentence(figures))
        return " ".join(translated(sentence) for sentence in sentences if sentence)

    def _on_pressed(self, index: int) -> None:
        """Select the rows of a bar; only now, as there may be a million."""
        assert self.measured is not None and self.measured.figures is not None
        is_marked = self.view.marked_zone == index
        self.view.mark(-1 if is_marked else index)
        rows = self.measured.predictions.table["row"].to_numpy()
        inside = rows[self.measured.figures.sizes == index]
        self.chosen.emit(() if is_marked else (Rows(rows=tuple(inside.tolist())),))

    def _on_chosen(self) -> None:
        if self.measured is not None:
            self._show(
                self.measured.with_coverage(self.coverage.value(), self.by_class.isChecked())
            )

    def _on_use(self) -> None:
        """Calibrate for the settings of the model, which may be later than these predictions."""
        assert self.measured is not None and self.measured.sets is not None
        predictions, sets = self.measured.predictions, self.measured.sets

        def change(settings: PredictionSettings) -> PredictionSettings:
            return with_sets(settings, predictions, sets.coverage, sets.by_class)

        self.decided.emit(change)

    def _on_off(self) -> None:
        self.decided.emit(lambda settings: settings.model_copy(update={"sets": None}))
