"""The card with the time and memory of the job."""

from functools import partial

from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from app.pages.train.choices import Step
from app.pages.train.estimate import Saving, estimate_text, saving_text, verdict, verdict_sentence
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import Card, clear
from app.widgets.text.labels import Text, TextStyle, tooltip
from engine.hub.cost import Verdict
from engine.messages.estimating import Estimated

STYLES: dict[Verdict, TextStyle] = {"fits": "good", "tight": "warn", "too large": "bad"}


class SavingsBox(QWidget):
    """Settings that need less memory, each with its button; hidden if there are none."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self._shown = list[tuple[Saving, Estimated]]()
        self.buttons = list[QPushButton]()
        self._rows = layouts.column(spacing=SPACE)
        self._measuring = Text(self.tr("Measuring settings that need less memory…"), "muted")
        box = layouts.column(parent=self, spacing=SPACE)
        title = Text(self.tr("The same training in less memory"), "strong")
        layouts.extend(box, title, self._rows, self._measuring)

    def show_measured(self) -> None:
        state = self._state.estimate
        measured, is_measuring = state.savings, state.measures_savings
        self.setVisible(bool(measured) or is_measuring)
        self._measuring.setVisible(is_measuring)
        if measured == self._shown:
            return
        self._shown = measured
        clear(self._rows)
        self.buttons = []
        for saving, estimate in measured:
            text = Text(saving_text(saving, estimate), STYLES[verdict(estimate)])
            use = buttons.quiet(self.tr("Use"), partial(self._state.save_memory, saving), "check")
            use.setAccessibleName(self.tr("Use: {0}").format(saving.title))
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
        self.savings = SavingsBox(state)
        layouts.extend(self.body, texts, self.savings, self._progress, row)
        state.estimate.changed.connect(self._show)
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        estimate = self._state.estimate
        result, progress = estimate.result, estimate.progress
        self._progress.setVisible(progress is not None)
        self.cancel.setVisible(progress is not None)
        self.measure.setVisible(progress is None and result is None)
        self.savings.show_measured()
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
