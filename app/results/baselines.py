"""The score beside what simple models reach on the same rows, and whether it beats them."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import background
from app.notices import Notices
from app.results.headline import value_text
from app.results.state import ResultsState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons
from app.widgets.text import Text
from engine.results.comparing import compare
from engine.results.measures import measures
from engine.results.predictions import Predictions, read_predictions
from engine.results.scores import metric_of
from engine.results.store import baselines_in, root_of


@dataclass(frozen=True)
class Beside:
    """A baseline: its name, its score, and whether the model is surely better, on the same rows."""

    name: str
    score: float
    is_beaten: bool


class BaselineLine(QWidget):
    """What the baselines reach and what follows, or a button that fits them.

    Signals:
        wanted: the baselines are to be fitted for what is shown.
    """

    wanted = Signal()

    def __init__(self, state: ResultsState, notices: Notices, folder: Path) -> None:
        super().__init__()
        self._state, self._notices, self._folder = state, notices, folder
        self.said = Text("", "muted")
        self.fit = buttons.quiet(self.tr("Compare with baseli&nes"), self.wanted.emit)
        self.fit.setToolTip(
            self.tr("Fit simple models, such as TF-IDF with logistic regression, on the same rows")
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2 * SPACE)
        row.addWidget(self.said, 10)
        row.addWidget(self.fit)
        row.addStretch()
        state.opened.connect(self.read)
        self.hide()

    def read(self) -> None:
        """Read the baselines for what is shown, off the window's thread."""
        predictions = self._state.predictions
        self.hide()
        if predictions is None or not predictions.is_labelled:
            return
        if predictions.facts.part == "file":
            return
        folder = root_of(self._folder)
        background.run(
            self,
            lambda: besides(folder, predictions),
            partial(self._on_read, predictions),
            self._notices.show,
        )

    def _on_read(self, of: Predictions, found: list[Beside]) -> None:
        if of is not self._state.predictions:
            return
        self.fit.setVisible(not found)
        self.said.setVisible(bool(found))
        self.show()
        if not found:
            return
        shown = partial(value_text, metric_of(of))
        scores = ", ".join(f"{translated(one.name)} {shown(one.score)}" for one in found)
        unbeaten = [translated(one.name) for one in found if not one.is_beaten]
        if not unbeaten:
            verdict = self.tr("The model beats them.")
        else:
            verdict = self.tr(
                "The model is not clearly better than {0}. What usually helps: more or cleaner "
                "training rows, more epochs, another learning rate, a larger base model."
            ).format(", ".join(unbeaten))
        self.said.set_style("warn" if unbeaten else "good")
        self.said.setText(self.tr("Baselines: {0}. {1}").format(scores, verdict))


def besides(folder: Path, shown: Predictions) -> list[Beside]:
    """The baselines for the rows of `shown`, each with whether it is surely worse."""
    part = shown.facts.part
    if part == "file":
        return []
    found = []
    for kept in baselines_in(folder, part, shown.facts.fingerprint):
        baseline = read_predictions(kept.file)
        main = compare(baseline, shown).metrics[0]
        is_beaten = main.is_sure and (main.difference.value > 0) == main.more_is_better
        value = measures(baseline)[0].interval().value
        found.append(Beside(kept.facts.model, value, is_beaten))
    return found
