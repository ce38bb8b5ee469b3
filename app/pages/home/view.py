"""Home page: ways to start, recent runs, and the machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app import background
from app.machine import Machine, memory_text, read_machine
from app.palette import Command
from app.studio import Studio
from app.theme import SPACE, px
from app.timers import debounced, repeated
from app.widgets import buttons, layouts
from app.widgets.charts.sparkline import Sparkline
from app.widgets.opening import open_path
from app.widgets.page import Card, Page, Picture, clear
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.run_texts import ICONS, metric_title, metric_value, state_text, task_title
from engine.config.tasks import FIRST_TASK, PRETRAINING
from engine.files.shipped import minilm, sample_data
from engine.record.metrics import sparkline
from engine.record.runs import Run, all_runs

MAX_RUNS = 5
REFRESH_DELAY_MS = 1000  # changes within it are read together
MACHINE_INTERVAL_MS = 10_000  # between readings of memory and disk


@dataclass(frozen=True)
class RecentRun:
    """A run, detached from the record, and some of its losses."""

    run: Run
    losses: tuple[float, ...]


class HomeState(QObject):
    """Recent runs and the machine, read outside the GUI thread while `watch` is on.

    Signals:
        runs_changed: list of RecentRun, newest first, and the total number of runs.
        machine_read: a Machine.
    """

    runs_changed = Signal(list, int)
    machine_read = Signal(object)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._reading = background.LatestJob(self)
        self._delay = debounced(self, REFRESH_DELAY_MS, self.read_runs)
        self._timer = repeated(self, MACHINE_INTERVAL_MS, self.read_machine)
        dispatcher = studio.dispatcher
        for signal in (dispatcher.run_added, dispatcher.run_changed, dispatcher.run_removed):
            signal.connect(self._on_changed)

    def watch(self, on: bool) -> None:
        """Start or stop following changes."""
        if on:
            self.read_runs()
            self.read_machine()
            self._timer.start()
        else:
            self._timer.stop()
            self._delay.stop()

    def has_first_steps(self) -> bool:
        """True if MiniLM and the sample data are included."""
        return minilm().is_dir() and sample_data().is_file()

    def read_runs(self) -> None:
        if self._reading.is_busy:
            self._delay.start()
        else:
            self._reading.run(self._read_recent, lambda read: self.runs_changed.emit(*read))

    def read_machine(self) -> None:
        root = self._studio.home.root
        background.run(self, lambda: read_machine(root), self.machine_read.emit)

    def _on_changed(self, _run: str) -> None:
        if self._timer.isActive() and not self._delay.isActive():
            self._delay.start()

    def _read_recent(self) -> tuple[list[RecentRun], int]:
        with self._studio.record.read() as session:
            runs = all_runs(session)
            recent = [
                RecentRun(run, tuple(sparkline(session, run.id, "loss"))) for run in runs[:MAX_RUNS]
            ]
        return recent, len(runs)


class HomePage(Page):
    """Cards, first steps, recent runs and a line on the machine."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(
            self.tr("What would you like to do?"),
            self.tr("Everything runs on this machine; no data leaves it."),
            scrolls=True,
        )
        self._studio = studio
        self.state = HomeState(studio, self)
        cards_row = layouts.row(spacing=4 * SPACE)
        self.cards: list[Card] = []
        self._commands: list[Command] = []
        for page, argument, icon, title, text in (
            (
                "train",
                {"task": FIRST_TASK},
                "graduation-cap",
                self.tr("Fine-tune a model"),
                self.tr(
                    "Train BERT on your own task. For classification, bring a table with a "
                    "text and a label in each row."
                ),
            ),
            (
                "explore",
                None,
                "scan-search",
                self.tr("Explore a model"),
                self.tr(
                    "Type a sentence, mask a word, and see the model’s predictions and what "
                    "each attention head attends to."
                ),
            ),
            (
                "train",
                {"task": PRETRAINING},
                "book-open",
                self.tr("Pre-train from text"),
                self.tr(
                    "Train a language model on plain text, from scratch or from an existing model."
                ),
            ),
        ):
            card = _start_card(icon, title, text)
            go = partial(studio.navigate.emit, page, argument)
            card.pressed.connect(go)
            self.cards.append(card)
            self._commands.append(Command(title, self.tr("Action"), icon, go))
            cards_row.addWidget(card, 1)
        self.first_steps = self._first_steps_card()
        self.runs = RecentRuns()
        self.runs.opened.connect(lambda run: studio.navigate.emit("runs", {"run": run}))
        self.runs.all_requested.connect(lambda: studio.navigate.emit("runs", {"list": True}))
        self.health = Health(str(studio.home.root))
        for part in (self.first_steps, self.runs):
            part.hide()
        layouts.extend(
            self.body, cards_row, self.first_steps, self.runs, layouts.STRETCH, self.health
        )
        self.state.runs_changed.connect(self._on_runs)
        self.state.machine_read.connect(self.health.show_machine)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.state.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.state.watch(False)

    def commands(self) -> Sequence[Command]:
        """The cards, for the palette."""
        return self._commands

    def _first_steps_card(self) -> Card:
        card = Card(padding=5 * SPACE)
        texts = layouts.column(
            Text(self.tr("New here? Start with the sample data."), "heading"),
            Text(
                self.tr(
                    "BERT Studio includes MiniLM, a small English model, and a table of Wikipedia "
                    "passages. While you watch, the model learns in about a minute to classify a "
                    "passage by topic, far better than a baseline that counts words."
                ),
                "muted",
            ),
            spacing=SPACE,
        )
        self.begin = buttons.primary(
            self.tr("Fine-tune &MiniLM on the sample"),
            lambda: self._studio.navigate.emit("train", {"preset": "first"}),
            icon="play",
        )
        self.pretrain = buttons.plain(
            self.tr("&Pre-train a tiny BERT"),
            lambda: self._studio.navigate.emit("train", {"preset": "scratch"}),
            icon="book-open",
        )
        both = layouts.column(self.begin, self.pretrain, spacing=2 * SPACE)
        card.body.addLayout(
            layouts.row(Picture("sparkles", 24, disc=True), (texts, 1), both, spacing=5 * SPACE)
        )
        return card

    def _on_runs(self, runs: list[RecentRun], total: int) -> None:
        self.first_steps.setVisible(self.state.has_first_steps() and total < 3)
        self.runs.setVisible(bool(runs))
        self.runs.show_runs(runs, total)


def _start_card(icon: str, title: str, text: str) -> Card:
    card = Card(pressable=True)
    card.setAccessibleName(title)
    card.setAccessibleDescription(text)
    card.body.setSpacing(2 * SPACE)
    layouts.extend(card.body, Picture(icon, 22, disc=True), SPACE)
    layouts.extend(card.body, Text(title, "heading"), Text(text, "muted"), layouts.STRETCH)
    return card


class Health(Card):
    """Device, memory, disk and home folder on one line."""

    def __init__(self, home: str) -> None:
        super().__init__(padding=4 * SPACE)
        self._home = home
        self.setAccessibleName(self.tr("This machine"))
        grid = layouts.grid(h_spacing=7 * SPACE, v_spacing=2)
        self.device, self.memory, self.disk = (OneLine("…") for _ in range(3))
        folder = OneLine(home)
        open_folder = buttons.icon_button(
            "folder-open", self.tr("Open the home folder"), self._on_open
        )
        facts: list[tuple[str, QWidget, int]] = [
            (self.tr("Device"), self.device, 3),
            (self.tr("Memory"), self.memory, 3),
            (self.tr("Disk"), self.disk, 2),
            (self.tr("Home folder"), folder, 4),
        ]
        for column, (name, value, stretch) in enumerate(facts):
            grid.addWidget(Text(name, "small", wraps=False), 0, column)
            grid.addWidget(value, 1, column)
            grid.setColumnStretch(column, stretch)
        grid.addWidget(open_folder, 0, len(facts), 2, 1)
        self.body.addLayout(grid)
        self.warning = Text("", "warn")
        self.warning.hide()
        self.body.addWidget(self.warning)

    def show_machine(self, machine: Machine) -> None:
        self.device.setText(machine.device())
        self.memory.setText(memory_text(machine))
        self.disk.setText(self.tr("{0} free").format(numbers.size(machine.disk_free)))
        self.warning.setText(machine.warning())
        self.warning.setVisible(bool(machine.warning()))

    def _on_open(self) -> None:
        open_path(Path(self._home))


class RecentRuns(QWidget):
    """A heading and a row for each run.

    Signals:
        opened: the id of a run.
        all_requested: to open the page of all runs.
    """

    opened = Signal(str)
    all_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.all = buttons.quiet(self.tr("&All runs"), self.all_requested.emit)
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
        self.details = OneLine("", "small")
        self.figure = Text("", wraps=False)
        self.figure_name = Text("", "small", wraps=False)
        self.loss = Sparkline()
        self.loss.setFixedSize(px(140), px(32))
        self.age = Text("", "small", wraps=False)
        self.age.setMinimumWidth(px(96))
        self.age.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._picture: Picture | None = None
        self._state = ""
        self.figure_name.setMinimumWidth(px(152))
        texts = layouts.column(self.name, self.details, spacing=2)
        figures = layouts.column(self.figure, self.figure_name, spacing=2)
        self._row = layouts.row((texts, 1), figures, self.loss, self.age, spacing=4 * SPACE)
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
        self.details.setText(" · ".join(filter(None, texts)))
        metric, score = run.best_metric, run.best_score
        best = self.tr("best {0}").format(metric_title(metric))
        self.figure.setText("" if score is None else metric_value(metric, score))
        self.figure_name.setText("" if score is None else best)
        self.loss.set_values(losses)
        self.age.setText(numbers.ago((datetime.now(UTC) - run.created).total_seconds()))
        self.setAccessibleName(f"{run.name}, {', '.join(texts)}")
