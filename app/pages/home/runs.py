"""Recent runs, each with a sparkline of its loss."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.pages.home.state import RecentRun
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.charts.sparkline import Sparkline
from app.widgets.page import Card, Picture, clear
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.run_texts import ICONS, metric_title, metric_value, state_text, task_title


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
        head = layouts.row((Text(self.tr("Recent runs"), "heading"), 1), self.all)
        self.rows = layouts.column(spacing=2 * SPACE)
        layouts.column(head, self.rows, parent=self, margins=(0, 2 * SPACE, 0, 0))
        self._shown: list[RecentRun] = []

    def show_runs(self, runs: Sequence[RecentRun], total: int) -> None:
        """Show `runs`; unchanged rows keep their widgets and the focus."""
        self.all.setText(self.tr("&All %Ln run(s)", "", total))
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
        self.age.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._picture: Picture | None = None
        self._state = ""
        self.figure_name.setMinimumWidth(152)
        words, figures = QVBoxLayout(), QVBoxLayout()
        for column, upper, lower in (
            (words, self.name, self.below),
            (figures, self.figure, self.figure_name),
        ):
            column.setSpacing(2)
            column.addWidget(upper)
            column.addWidget(lower)
        self._row = layouts.row((words, 1), figures, self.loss, self.age, spacing=4 * SPACE)
        self.body.addLayout(self._row)

    def show_run(self, run: RecentRun) -> None:
        if run.state != self._state:
            if self._picture is not None:
                self._row.removeWidget(self._picture)
                self._picture.deleteLater()
            icon, role = ICONS[run.state]
            self._picture = Picture(icon, 18, role)
            self._row.insertWidget(0, self._picture)
            self._state = run.state
        said = [task_title(run.task), state_text(run.state)]
        if run.state in ("running", "stopping", "stopped", "crashed") and run.share >= 0:
            said.append(numbers.percent(run.share, 0))
        self.name.setText(run.name)
        self.below.setText(" · ".join(filter(None, said)))
        has_metric = run.metric is not None
        self.figure.setText(metric_value(run.metric_name, run.metric) if has_metric else "")
        best = self.tr("best {0}").format(metric_title(run.metric_name))
        self.figure_name.setText(best if has_metric else "")
        self.loss.set_values(run.losses)
        self.age.setText(numbers.ago(run.age()))
        self.setAccessibleName(f"{run.name}, {', '.join(said)}")
