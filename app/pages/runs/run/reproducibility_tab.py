"""The environment of a run, other runs of the same job, and checks of reproducibility and files."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QWidget

from app import background
from app.notices import Notices
from app.pages.runs.rows import RunRow
from app.pages.runs.run.state import RunState
from app.theme import SPACE, Role
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.facts import Facts
from app.widgets.page import Card, Picture, clear, scrolling
from app.widgets.progress import ProgressLine
from app.widgets.text import numbers
from app.widgets.text.labels import Text, TextStyle, tooltip, visible
from app.widgets.text.spec_texts import value_text
from engine.config.changes import changes
from engine.runs.folder import RunFolder
from engine.runs.reproducibility import (
    Repetition,
    Reproducibility,
    RunSession,
    compare_weights,
    damaged_checkpoints,
    read_reproducibility,
)

MAX_REPETITIONS = 20  # in the list


class ReproducibilityState(QObject):
    """Reads reproducibility, repetitions and checksums off the GUI thread.

    Signals:
        refreshed: the Reproducibility of the run.
        compared: a Repetition for each other run of the same job, newest first.
        checking: checkpoints checked and in total; both 0 at the end.
        files_checked: a sentence for each damaged checkpoint.
    """

    refreshed = Signal(object)
    compared = Signal(list)
    checking = Signal(int, int)
    files_checked = Signal(list)

    def __init__(self, run: RunState, notices: Notices) -> None:
        super().__init__(run)
        self.run, self._notices = run, notices
        self._checking: background.Job | None = None
        self._reading: background.Job | None = None

    def read(self) -> None:
        """Read everything again, unless a reading is in progress."""
        if self.run.row is None or self._reading is not None:
            return
        row, folder = self.run.row, RunFolder(self.run.row.folder)
        others = [other for other in self.run.runs.rows.values() if _may_repeat(other, row)]

        def work() -> tuple[Reproducibility, list[Repetition]]:
            return read_reproducibility(folder), repetitions(row, others)

        def done(result: tuple[Reproducibility, list[Repetition]]) -> None:
            self._reading = None
            self.refreshed.emit(result[0])
            self.compared.emit(result[1])

        def failed(error: BaseException) -> None:
            self._reading = None
            self._notices.show(error)

        self._reading = background.run(self, work, done, failed)

    def run_again(self) -> None:
        if self.run.row is not None:
            self.run.runs.run_again([self.run.row])

    def check_files(self) -> None:
        if self.run.row is None or self._checking is not None:
            return
        folder = RunFolder(self.run.row.folder)

        def done(result: list[str]) -> None:
            self.cancel_check()
            self.files_checked.emit(result)

        def failed(error: BaseException) -> None:
            self.cancel_check()
            self._notices.show(error)

        self._checking = background.run(
            self,
            lambda progress: damaged_checkpoints(folder, progress),
            done,
            failed,
            progress=self.checking.emit,
        )
        self.checking.emit(0, 1)

    def cancel_check(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None
            self.checking.emit(0, 0)


def _may_repeat(other: RunRow, row: RunRow) -> bool:
    """Cheap test before the jobs of two runs are compared."""
    is_similar = (other.task, other.data, other.base_model) == (row.task, row.data, row.base_model)
    return is_similar and other.id != row.id and other.started is not None


def repetitions(row: RunRow, others: Iterable[RunRow]) -> list[Repetition]:
    """Results of the runs of the same job, newest first; reads their folders."""
    result = []
    for other in sorted(others, key=lambda item: item.created, reverse=True):
        if row.job is None or other.job is None or changes(row.job, other.job):
            continue
        repetition = compare_weights(RunFolder(row.folder), RunFolder(other.folder), other.name)
        if repetition is not None:
            result.append(repetition)
        if len(result) == MAX_REPETITIONS:
            break
    return result


SHA_256 = 64  # hexadecimal digits


class ReproducibilityTab(QWidget):
    """Verdict, sessions, repetitions and environment; read only while visible."""

    def __init__(self, state: ReproducibilityState) -> None:
        super().__init__()
        self._state = state
        self._shown: Reproducibility | None = None
        self.verdict = Text("", "strong")
        self.good_icon = Picture("circle-check", 22, Role.GOOD)
        self.warn_icon = Picture("triangle-alert", 22, Role.WARN)
        self.obstacles = Text("", "muted", selectable=True)
        self.origin = Text("", "body", selectable=True)
        self._sessions = layouts.column(spacing=SPACE)
        self._repetitions = layouts.column(spacing=SPACE)
        self.again = buttons.plain(self.tr("&Run again"), state.run_again, "copy")
        self.again.setToolTip(tooltip(self.tr("Train the same job once more and compare weights.")))
        self.files = Text("", "muted")
        self.check = buttons.plain(self.tr("Verif&y files"), state.check_files, "check")
        self.copy = buttons.plain(self.tr("&Copy"), self._on_copy, "copy")
        self.progress = ProgressLine(self.tr("Verification of the files"))
        self.progress.cancelled.connect(state.cancel_check)
        self.facts = Facts(self.tr("Environment and checksums"))
        row = layouts.row(
            (self._verdict_card(), 4), parent=self, spacing=3 * SPACE, margins=(0, 3 * SPACE, 0, 0)
        )
        row.addWidget(self._environment_card(), 5)  # wide enough for half a SHA-256 at 1100 px
        state.refreshed.connect(self.show_result)
        state.compared.connect(self.show_repetitions)
        state.files_checked.connect(self._on_checked)
        state.checking.connect(self._on_checking)
        state.run.changed.connect(self._on_changed)

    def _verdict_card(self) -> Card:
        card = Card(self.tr("Reproducibility"))
        top = layouts.row(spacing=2 * SPACE)
        for picture in (self.good_icon, self.warn_icon):
            picture.hide()
            top.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self.verdict, 1)
        inner = layouts.page(
            top,
            self.obstacles,
            self.origin,
            self._sessions,
            self._repetitions,
            layouts.STRETCH,
            spacing=2 * SPACE,
            margins=(0, 0, 2 * SPACE, 0),
        )
        row = layouts.row(self.again, self.check, (self.files, 1), spacing=2 * SPACE)
        layouts.extend(card.body, (scrolling(inner), 1), self.progress, row)
        return card

    def _environment_card(self) -> Card:
        card = Card(self.tr("Environment and checksums"))
        inner = layouts.page(self.facts, layouts.STRETCH, margins=(0, 0, 2 * SPACE, 0))
        row = layouts.row(self.copy, layouts.STRETCH)
        layouts.extend(card.body, (scrolling(inner), 1), row)
        return card

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._state.read()

    def _on_changed(self) -> None:
        if self.isVisible():
            self._state.read()

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def show_result(self, result: Reproducibility) -> None:
        """Show a result, unless it is already shown."""
        if result == self._shown:
            return
        self._shown = result
        style, sentence = verdict(result)
        self.verdict.setText(sentence)
        self.verdict.set_style(style)
        self.good_icon.setVisible(style == "good")
        self.warn_icon.setVisible(style == "warn")
        self.obstacles.setText("\n".join(map(translated, result.obstacles)) if result.step else "")
        self.obstacles.setVisible(bool(result.obstacles) and result.step > 0)
        self.origin.setText(result.branched.sentence() if result.branched else "")
        self.origin.setVisible(result.branched is not None)
        clear(self._sessions)
        for line in session_lines(result):
            self._sessions.addWidget(Text(line, "muted", selectable=True))
        self.facts.show_facts([(name, _wrap_checksum(value)) for name, value in facts(result)])
        self.check.setEnabled(result.step > 0)
        self.files.setText("")

    def show_repetitions(self, result: Sequence[Repetition]) -> None:
        """Show the results of other runs of the same job."""
        clear(self._repetitions)
        for item in result:
            style: TextStyle = "good" if item.is_same else "warn"
            self._repetitions.addWidget(Text(repetition_text(item), style, selectable=True))

    def _on_checking(self, done: int, total: int) -> None:
        if not total:
            self.progress.end()
            return
        if self.progress.isHidden():
            self.progress.begin(self.tr("Reading the checkpoints"))
        self.progress.show_progress(done, total)

    def _on_checked(self, damaged: list[str]) -> None:
        intact = self.tr("All files of all checkpoints are intact.")
        self.files.setText("\n".join(map(translated, damaged)) if damaged else intact)
        self.files.set_style("bad" if damaged else "good")

    def _on_copy(self) -> None:
        if self._shown is not None:
            lines = [f"{name}: {value}" for name, value in facts(self._shown)]
            lines = [verdict(self._shown)[1], *map(translated, self._shown.obstacles), *lines]
            lines += session_lines(self._shown)
            QGuiApplication.clipboard().setText("\n".join(lines))


def verdict(result: Reproducibility) -> tuple[TextStyle, str]:
    """A sentence that says whether the same job gives the same weights."""
    if not result.step:
        return "muted", tr("No checkpoint has been saved yet, so there is nothing to reproduce.")
    if result.obstacles:
        return "warn", tr("Repeating this run may give slightly different weights:")
    return "good", tr(
        "Repeating this run in the same environment gives exactly the weights of step {0}."
    ).format(numbers.count(result.step))


def repetition_text(item: Repetition) -> str:
    """A sentence that compares a run of the same job."""
    name, step = visible(item.name), numbers.count(item.step)
    if item.is_same:
        return tr("“{0}”, the same job: identical weights at step {1}.").format(name, step)
    sentence = tr("“{0}”, the same job: different weights at step {1}.").format(name, step)
    if not item.differences:
        return tr("{0} The environment was the same.").format(sentence)
    parts = ", ".join(environment_names().get(part, part) for part in item.differences)
    return tr("{0} Differences in the environment: {1}.").format(sentence, parts)


def session_lines(result: Reproducibility) -> list[str]:
    """A sentence for each training session."""
    return [session_text(n, item) for n, item in enumerate(result.sessions, start=1)]


def session_text(number: int, session: RunSession) -> str:
    """The steps of one worker, and how exactly it resumed."""
    first, last = numbers.count(session.first), numbers.count(session.last)
    started = numbers.moment(session.at)
    if not session.affects_weights:
        template = tr("Session {0}: started from step {1}, {2}; no checkpoint saved")
        return template.format(number, first, started)
    steps = tr("Session {0}: steps {1}–{2}, started {3}").format(
        number, numbers.count(session.first + 1), last, started
    )
    if not session.first:
        return steps
    if session.differences:
        template = tr("{0}; resumed, but not bit for bit: {1}")
        return template.format(steps, ", ".join(map(translated, session.differences)))
    return tr("{0}; resumed bit for bit").format(steps)


def environment_names() -> dict[str, str]:
    """Titles of the parts of an environment; others keep their names."""
    return {
        "cpu": tr("CPU"),
        "instructions": tr("Instruction set"),
        "device": tr("Device"),
        "threads": tr("Threads"),
        "processes": tr("Processes"),
        "precision": tr("Precision"),
        "attention": tr("Attention of unpadded batches"),
        "products": tr("Library of fp32 products"),
        "studio": tr("BERT Studio"),
        "data": tr("Data fingerprint"),
        "vocabulary": tr("Vocabulary fingerprint"),
        "start": tr("Initial weights (SHA-256)"),
    }


def facts(result: Reproducibility) -> list[tuple[str, str]]:
    """Environment and checksums with titles; unknown ones are left out."""
    names = environment_names()
    attention = {
        "padded blocks": tr("in groups of similar length"),
        "nested": tr("variable-length kernels"),
    }
    lines = [
        (
            names.get(name, name),
            value_text(value) if name == "device" else attention.get(value, value),
        )
        for name, value in result.environment.items()
    ]
    weights = tr("Weights (SHA-256)")
    optimiser = tr("Optimiser state (SHA-256)")
    lines += [(weights, result.weights), (optimiser, result.optimiser)]
    lines.append((tr("Peak memory"), _size(result.memory)))
    lines.append((tr("Peak GPU memory"), _size(result.device_memory)))
    return [(name, value) for name, value in lines if value]


def _size(peak: int) -> str:
    return numbers.size(peak) if peak else ""


def _wrap_checksum(value: str) -> str:
    """Break a SHA-256 into two lines; labels cannot wrap it."""
    is_checksum = len(value) == SHA_256 and value.isalnum()
    return f"{value[: SHA_256 // 2]}\n{value[SHA_256 // 2 :]}" if is_checksum else value
