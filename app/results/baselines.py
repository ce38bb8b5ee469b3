"""Scores of simple models on the same rows, and whether the model beats them."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.notices import Notices
from app.results.headline import value_text
from app.results.state import ResultsState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.results.intervals import with_ends
from app.widgets.text.labels import Text
from engine.results.comparing import (
    BETTER,
    BaselineComparison,
    baseline_advice,
    compare_with_baseline,
)
from engine.results.measures import main_metric
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import baselines_in, results_root


class BaselineLine(QWidget):
    """A sentence about the baselines, or a button that fits them.

    Args:
        folder: of the results; None if they have no baselines.

    Signals:
        wanted: fit the baselines for the shown rows.
    """

    wanted = Signal()

    def __init__(self, state: ResultsState, notices: Notices, folder: Path | None) -> None:
        super().__init__()
        self._state, self._notices, self._folder = state, notices, folder
        self.verdict = Text("", "muted")
        self.fit = buttons.quiet(self.tr("Compare with baseli&nes"), self.wanted.emit)
        self.fit.setToolTip(
            self.tr("Fit simple models, such as TF-IDF with logistic regression, on the same rows")
        )
        layouts.row((self.verdict, 10), self.fit, layouts.STRETCH, parent=self, spacing=2 * SPACE)
        state.opened.connect(self.read)
        self.hide()

    def read(self) -> None:
        """Read the baselines of the shown rows in the background."""
        predictions, folder = self._state.predictions, self._folder
        self.hide()
        if folder is None or predictions is None or not predictions.is_labelled:
            return
        if predictions.info.part == "file":
            return
        folder = results_root(folder)
        background.run(
            self,
            lambda: read_baselines(folder, predictions),
            partial(self._on_read, predictions),
            self._notices.show,
        )

    def _on_read(self, of: Predictions, found: list[BaselineComparison]) -> None:
        if of is not self._state.predictions:
            return
        self.fit.setVisible(not found)
        self.verdict.setVisible(bool(found))
        self.show()
        if not found:
            return
        shown = partial(value_text, main_metric(of))
        scores = ", ".join(f"{one.name} {with_ends(one.score, shown)}" for one in found)
        is_beaten = all(one.verdict == BETTER for one in found)
        self.verdict.set_style("good" if is_beaten else "warn")
        verdict = translated(baseline_advice(found))
        self.verdict.setText(self.tr("Baselines: {0}. {1}").format(scores, verdict))


def read_baselines(folder: Path, shown: Predictions) -> list[BaselineComparison]:
    """Baselines for the rows of `shown`; none for rows of a file."""
    part = shown.info.part
    if part == "file":
        return []
    kept = baselines_in(folder, part, shown.info.fingerprint)
    return [compare_with_baseline(shown, read_predictions(one.file)) for one in kept]
