"""The last runs, each with the shape of its loss."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.pages.home.state import RecentRun
from app.theme import SPACE, Role
from app.widgets import buttons, numbers
from app.widgets.page import Card, Picture, clear
from app.widgets.sparkline import Sparkline
from app.widgets.text import OneLine, Text


@dataclass(frozen=True)
class Look:
    """How a state of a run is shown: word, icon and colour."""

    words: Callable[[], str]
    icon: str
    role: Role


def _tr(text: str) -> str:
    return QCoreApplication.translate("RecentRuns", text)


LOOKS = {
    "queued": Look(lambda: _tr("queued"), "hourglass", Role.MUTED),
    "starting": Look(lambda: _tr("starting"), "loader-circle", Role.ACCENT),
    "running": Look(lambda: _tr("running"), "activity", Role.ACCENT),
    "stopping": Look(lambda: _tr("stopping"), "loader-circle", Role.ACCENT),
    "stopped": Look(lambda: _tr("stopped"), "circle-stop", Role.MUTED),
    "finished": Look(lambda: _tr("finished"), "circle-check", Role.GOOD),
    "failed": Look(lambda: _tr("failed"), "circle-x", Role.BAD),
    "crashed": Look(lambda: _tr("interrupted"), "triangle-alert", Role.WARN),
}
TASKS: dict[str, Callable[[], str]] = {
    "classification": lambda: _tr("Classes"),
    "pretraining": lambda: _tr("Masked words"),
}


class RecentRuns(QWidget):
    """A heading and a row for each run.

    Signals:
        opened: the id of a run.
        all_asked: to the page of all runs.
    """

    opened = Signal(str)
    all_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.all = buttons.quiet(self.tr("&All runs"), self.all_asked.emit)
        head = QHBoxLayout()
        head.addWidget(Text(self.tr("Recent runs"), "heading"), 1)
        head.addWidget(self.all)
        self.rows = QVBoxLayout()
        self.rows.setSpacing(2 * SPACE)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2 * SPACE, 0, 0)
        column.addLayout(head)
        column.addLayout(self.rows)
        self._shown: list[RecentRun] = []

    def show_runs(self, runs: Sequence[RecentRun], total: int) -> None:
        """Rows for `runs`; the rows stay, so that the focus does, where the runs are the same."""
        self.all.setText(self.tr("&All %n run(s)", "", total))
        if [run.id for run in runs] != [run.id for run in self._shown]:
            clear(self.rows)
            for run in runs:
                row = RunRow()
                row.pressed.connect(partial(self.opened.emit, run.id))
                self.rows.addWidget(row)
        for place, run in enumerate(runs):
            item = self.rows.itemAt(place)
            widget = item.widget() if item is not None else None
            if isinstance(widget, RunRow):
                widget.show_run(run)
        self._shown = list(runs)


class RunRow(Card):
    """State, name, metric, loss and age on one line."""

    def __init__(self) -> None:
        super().__init__(pressable=True, padding=3 * SPACE)
        self.name = OneLine("", "strong")
        self.below = OneLine("", "small")
        self.figure = Text("", wraps=False)
        self.figure_name = Text("", "small", wraps=False)
        self.loss = Sparkline()
        self.loss.setFixedSize(140, 32)
        self.age = Text("", "small", wraps=False)
        self.age.setMinimumWidth(96)
        self._picture: Picture | None = None
        self._state = ""
        words, figures = QVBoxLayout(), QVBoxLayout()
        for column, upper, lower in (
            (words, self.name, self.below),
            (figures, self.figure, self.figure_name),
        ):
            column.setSpacing(2)
            column.addWidget(upper)
            column.addWidget(lower)
        self._row = QHBoxLayout()
        self._row.setSpacing(4 * SPACE)
        self._row.addLayout(words, 1)
        self._row.addLayout(figures)
        self._row.addWidget(self.loss)
        self._row.addWidget(self.age)
        self.body.addLayout(self._row)

    def show_run(self, run: RecentRun) -> None:
        look = LOOKS[run.state]
        if run.state != self._state:
            if self._picture is not None:
                self._row.removeWidget(self._picture)
                self._picture.deleteLater()
            self._picture = Picture(look.icon, 18, look.role)
            self._row.insertWidget(0, self._picture)
            self._state = run.state
        said = [TASKS[run.task]() if run.task in TASKS else run.task, look.words()]
        if run.state in ("running", "stopping", "stopped", "crashed") and run.share >= 0:
            said.append(numbers.percent(run.share, 0))
        self.name.setText(run.name)
        self.below.setText(" · ".join(said))
        self.figure.setText(_metric(run))
        self.figure_name.setText(_metric_name(run))
        self.loss.set_values(run.losses)
        self.age.setText(numbers.ago(run.age()))
        self.setAccessibleName(f"{run.name}, {', '.join(said)}")


def _metric(run: RecentRun) -> str:
    if run.metric is None:
        return ""
    if "accuracy" in run.metric_name or "f1" in run.metric_name:
        return numbers.percent(run.metric)
    return numbers.decimal(run.metric, 3)


METRICS: dict[str, Callable[[], str]] = {
    "dev_accuracy": lambda: _tr("best accuracy"),
    "dev_f1_macro": lambda: _tr("best macro F1"),
    "dev_loss": lambda: _tr("lowest dev loss"),
}


def _metric_name(run: RecentRun) -> str:
    if run.metric is None:
        return ""
    return METRICS[run.metric_name]() if run.metric_name in METRICS else run.metric_name
