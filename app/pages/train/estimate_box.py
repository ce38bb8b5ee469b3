"""The card with the time and memory of the job."""

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from app.pages.train.choices import Step
from app.pages.train.estimate import (
    Measured,
    Other,
    estimate_text,
    other_text,
    verdict,
    verdict_sentence,
)
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import Card, clear
from app.widgets.text.labels import Text, TextStyle, tooltip
from engine.hub.cost import Verdict

STYLES: dict[Verdict, TextStyle] = {"fits": "good", "tight": "warn", "too large": "bad"}


class OthersBox(QWidget):
    """Other settings with memory and time, each with its button; hidden if there are none."""

    def __init__(self, title: str, measuring: str, use: Callable[[Other], None]) -> None:
        super().__init__()
        self._use = use
        self._shown = list[Measured]()
        self.buttons = list[QPushButton]()
        self._rows = layouts.column(spacing=SPACE)
        self._measuring = Text(measuring, "muted")
        box = layouts.column(parent=self, spacing=SPACE)
        layouts.extend(box, Text(title, "strong"), self._rows, self._measuring)

    def show_measured(self, measured: list[Measured], is_measuring: bool) -> None:
        self.setVisible(any(not one.is_chosen for one in measured) or is_measuring)
        self._measuring.setVisible(is_measuring)
        if measured == self._shown:
            return
        self._shown = measured
        clear(self._rows)
        self.buttons = []
        for other, estimate, is_chosen in measured:
            style = "bad" if estimate is None else STYLES[verdict(estimate)]
            text = Text(other_text(other, estimate), style)
            name = self.tr("Chosen: {0}") if is_chosen else self.tr("Use: {0}")
            title = self.tr("Chosen") if is_chosen else self.tr("Use")
            use = buttons.quiet(title, partial(self._use, other), "check")
            use.setAccessibleName(name.format(other.title))
            use.setEnabled(not is_chosen)
            self.buttons.append(use)
            layouts.extend(self._rows, layouts.row((text, 1), use, spacing=2 * SPACE))


class EstimateBox(Card):
    """Starts the measurement, shows its progress, and the result."""

    def __init__(self, state: TrainState) -> None:
        super().__init__(self.tr("Time and memory"))
        self._state = state
        self.verdict = Text("", "strong")
        self.facts = Text("", "muted")
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Measuring"))
        self.measure = buttons.plain(self.tr("&Measure"), state.estimate.measure, "gauge")
        self.cancel = buttons.plain(self.tr("Cancel measuring"), state.estimate.cancel, "x")
        row = layouts.row(self.measure, self.cancel, layouts.STRETCH, spacing=2 * SPACE)
        texts = layouts.column(self.verdict, self.facts, spacing=SPACE)
        self.ways = OthersBox(
            self.tr("Long texts"), self.tr("Measuring both ways to read long texts…"), state.use
        )
        self.savings = OthersBox(
            self.tr("The same training in less memory"),
            self.tr("Measuring settings that need less memory…"),
            state.use,
        )
        layouts.extend(self.body, texts, self.ways, self.savings, self._progress, row)
        state.estimate.changed.connect(self._show)
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        estimate = self._state.estimate
        result, progress = estimate.result, estimate.progress
        self._progress.setVisible(progress is not None)
        self.cancel.setVisible(progress is not None)
        self.measure.setVisible(progress is None and result is None)
        self.ways.show_measured(estimate.ways, estimate.measures_ways)
        self.savings.show_measured(estimate.savings, estimate.measures_savings)
        self.verdict.setVisible(result is not None)
        if progress is not None:
            self._progress.setRange(0, progress.total)
            self._progress.setValue(progress.done)
        if result is not None:
            self.verdict.setText(verdict_sentence(result))
            self.verdict.set_style(STYLES[verdict(result)])
            self._set_text(estimate_text(result))
        elif estimate.problem is not None:
            self._set_text(estimate.problem.phrase, "bad")
        elif progress is not None:
            self._set_text(
                self.tr("{0}… You can start without waiting for it.").format(
                    translated(progress.stage)
                )
            )
        else:
            self._set_text(
                self.tr("We run one real step with the longest inputs to measure time and memory.")
            )
        missing = self._missing()
        self.measure.setEnabled(not missing)
        self.measure.setToolTip(tooltip(missing) if missing else "")

    def _missing(self) -> str:
        steps = (Step.TASK, Step.DATA, Step.BASE_MODEL, Step.SETTINGS)
        return next((reason for step in steps if (reason := self._state.obstacle(step))), "")

    def _set_text(self, sentence: str, style: TextStyle = "muted") -> None:
        self.facts.setText(sentence)
        self.facts.set_style(style)
