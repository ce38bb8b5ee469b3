"""Time and memory of the job, as one measured step says."""

from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout

from app.pages.train import advice
from app.pages.train.choices import Step
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.widgets import buttons, numbers
from app.widgets.page import Card
from app.widgets.text import Look, Text, tooltip
from engine.messages.estimating import Estimated


class EstimateBox(Card):
    """Asks for the measurement, shows it while it comes, and what it found."""

    def __init__(self, state: TrainState) -> None:
        super().__init__(self.tr("Time and memory"))
        self._state = state
        self.verdict = Text("", "strong")
        self.facts = Text("", "muted")
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Measuring"))
        self.measure = buttons.plain(self.tr("&Measure"), state.measure, "gauge")
        self.cancel = buttons.plain(self.tr("Stop measuring"), state.cancel_measuring, "x")
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addWidget(self.measure)
        row.addWidget(self.cancel)
        row.addStretch()
        words = QVBoxLayout()
        words.setSpacing(SPACE)
        words.addWidget(self.verdict)
        words.addWidget(self.facts)
        self.body.addLayout(words)
        self.body.addWidget(self._progress)
        self.body.addLayout(row)
        state.measured.connect(self._show)
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        state = self._state
        found, working = state.estimate, state.estimating
        self._progress.setVisible(working is not None)
        self.cancel.setVisible(working is not None)
        self.measure.setVisible(working is None and found is None)
        self.verdict.setVisible(found is not None)
        if found is not None:
            self.verdict.setText(verdict_sentence(found))
            self.verdict.set_look(LOOKS[advice.verdict(found)])
            self._say(estimate_sentence(found))
        elif working is not None:
            self._progress.setRange(0, working.total)
            self._progress.setValue(working.done)
            self._say(self.tr("{0} … You need not wait for it.").format(working.stage))
        elif state.estimate_problem is not None:
            self._say(str(state.estimate_problem), "bad")
        else:
            self._say(self._hint())
        missing = self._missing()
        self.measure.setEnabled(not missing)
        self.measure.setToolTip(tooltip(missing) if missing else "")

    def _missing(self) -> str:
        """What keeps the job from being measured."""
        steps = (Step.TASK, Step.DATA, Step.START, Step.SETTINGS)
        return next((why for step in steps if (why := self._state.obstacle(step))), "")

    def _hint(self) -> str:
        return self.tr(
            "One real step with the longest inputs tells how long the run takes and what it needs."
        )

    def _say(self, sentence: str, look: Look = "muted") -> None:
        self.facts.setText(sentence)
        self.facts.set_look(look)


LOOKS: dict[str, Look] = {"fits": "good", "tight": "warn", "too big": "bad"}


def verdict_word(estimate: Estimated) -> str:
    """The verdict in a word or two."""
    words = {
        "fits": advice.translate("Train", "fits"),
        "tight": advice.translate("Train", "tight"),
        "too big": advice.translate("Train", "too big"),
    }
    return words[advice.verdict(estimate)]


def verdict_sentence(estimate: Estimated) -> str:
    sentences = {
        "fits": advice.translate("Train", "Fits this machine: about {0} in all."),
        "tight": advice.translate("Train", "Tight on this machine: about {0} in all."),
        "too big": advice.translate("Train", "Too big for this machine now: about {0} in all."),
    }
    return sentences[advice.verdict(estimate)].format(numbers.duration(estimate.seconds))


def estimate_sentence(estimate: Estimated) -> str:
    threads = advice.translate("Train", "%n thread(s)", "", estimate.threads)
    parts = (estimate.device, estimate.precision, threads if estimate.threads else "")
    device = ", ".join(part for part in parts if part)
    sentence = advice.translate(
        "Train",
        "{steps} steps of {pace}; {memory} of {available} of free memory;"
        " {parameters} parameters on {device}.",
    ).format(
        steps=numbers.count(estimate.steps),
        pace=pace(estimate.seconds_per_step),
        memory=numbers.size(estimate.memory),
        available=numbers.size(estimate.available),
        parameters=numbers.short(estimate.parameters),
        device=device,
    )
    return f"{sentence} {disk_sentence(estimate)}".strip()


def disk_sentence(estimate: Estimated) -> str:
    """What the checkpoints take on the disk; nothing where that is not known."""
    if not estimate.checkpoint:
        return ""
    return advice.translate(
        "Train", "On the disk at most {total}: {count} checkpoints of {size}."
    ).format(
        total=numbers.size(estimate.checkpoint * estimate.checkpoints),
        count=numbers.count(estimate.checkpoints),
        size=numbers.size(estimate.checkpoint),
    )


def pace(seconds: float) -> str:
    """The time of one step, also where it is short."""
    if seconds < 1:
        return advice.translate("Train", "{0} ms").format(max(1, round(1000 * seconds)))
    if seconds < 10:
        return advice.translate("Train", "{0} s").format(numbers.decimal(seconds, 1))
    return numbers.duration(seconds)
