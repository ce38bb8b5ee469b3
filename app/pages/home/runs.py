"""Recent runs, each with a sparkline of its loss."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.pages.home.state import RecentRun
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.charts.sparkline import Sparkline
from app.widgets.page import Card, Picture, clear
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.run_texts import ICONS, metric_title, metric_value, state_text, task_title
from engine.record.runs import Run


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
        self._widgets: list[RunRow] = []
        self._shown: list[str] = []  # ids

    def show_runs(self, runs: Sequence[RecentRun], total: int) -> None:
        """Show `runs`; unchanged rows keep their widgets and the focus."""
        self.all.setText(self.tr("&All %Ln run(s)", "", total))
        ids = [recent.run.id for recent in runs]
        if ids != self._shown:
            self._shown, self._widgets = ids, [RunRow() for _ in runs]
            clear(self.rows)
            for run_id, row in zip(ids, self._widgets, strict=True):
                row.pressed.connect(partial(self.opened.emit, run_id))
                self.rows.addWidget(row)
        for recent, row in zip(runs, self._widgets, strict=True):
            row.show_run(recent.run, recent.losses)


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
        words = layouts.column(self.name, self.below, spacing=2)
        figures = layouts.column(self.figure, self.figure_name, spacing=2)
        self._row = layouts.row((words, 1), figures, self.loss, self.age, spacing=4 * SPACE)
        self.body.addLayout(self._row)

    def show_run(self, run: Run, losses: Sequence[float]) -> None:
        if run.state != self._state:
            if self._picture is not None:
                self._row.removeWidget(self._picture)
                self._picture.deleteLater()
            icon, role = ICONS[run.state]
            self._picture = Picture(icon, 18, role)
            self._row.insertWidget(0, self._picture)
            self._state = run.state
        texts = [task_title(run.task), state_text(run.state)]
        if run.state in ("running", "stopping", "stopped", "crashed") and run.steps:
            texts.append(numbers.percent(run.step / run.steps, 0))
        self.name.setText(run.name)
        self.below.setText(" · ".join(filter(None, texts)))
        metric, score = run.best_metric, run.best_score
        best = self.tr("best {0}").format(metric_title(metric))
        self.figure.setText("" if score is None else metric_value(metric, score))
        self.figure_name.setText("" if score is None else best)
        self.loss.set_values(losses)
        self.age.setText(numbers.ago((datetime.now(UTC) - run.created).total_seconds()))
        self.setAccessibleName(f"{run.name}, {', '.join(texts)}")
