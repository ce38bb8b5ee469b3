"""Home page: ways to start, recent runs, and the machine."""

from functools import partial

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.machine import Machine, memory_text
from app.pages.home.runs import RecentRuns
from app.pages.home.state import HomeState, RecentRun
from app.studio import Studio
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.page import Card, Page, Picture
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from engine.config.tasks import FIRST_TASK, PRETRAINING


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
        ways = layouts.row(spacing=4 * SPACE)
        self.cards: list[Card] = []
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
            card = _way(icon, title, text)
            card.pressed.connect(partial(studio.go.emit, page, argument))
            self.cards.append(card)
            ways.addWidget(card, 1)
        self.first = self._first_steps()
        self.runs = RecentRuns()
        self.runs.opened.connect(lambda run: studio.go.emit("runs", {"run": run}))
        self.runs.all_asked.connect(lambda: studio.go.emit("runs", None))
        self.health = Health(str(studio.home.root))
        for part in (self.first, self.runs):
            part.hide()
        layouts.extend(self.body, ways, self.first, self.runs, layouts.STRETCH, self.health)
        self.state.runs_changed.connect(self._on_runs)
        self.state.machine_seen.connect(self.health.show_machine)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.state.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.state.watch(False)

    def _first_steps(self) -> Card:
        card = Card(padding=5 * SPACE)
        words = layouts.column(
            Text(self.tr("New here? Start with the sample data."), "heading"),
            Text(
                self.tr(
                    "BERT Studio includes MiniLM, a small English model, and a table of passages "
                    "of Wikipedia. In about a minute, the model learns to classify a passage by "
                    "topic while you watch, far better than a baseline that counts words."
                ),
                "muted",
            ),
            spacing=SPACE,
        )
        self.begin = buttons.primary(
            self.tr("Fine-tune &MiniLM on the sample"),
            lambda: self._studio.go.emit("train", {"preset": "first"}),
            icon="play",
        )
        card.body.addLayout(
            layouts.row(
                Picture("sparkles", 24, disc=True), (words, 1), self.begin, spacing=5 * SPACE
            )
        )
        return card

    def _on_runs(self, runs: list[RecentRun], total: int) -> None:
        self.first.setVisible(self.state.has_first_steps() and total < 3)
        self.runs.setVisible(bool(runs))
        self.runs.show_runs(runs, total)


def _way(icon: str, title: str, text: str) -> Card:
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
        grid = layouts.grid(across=7 * SPACE, down=2)
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
        QDesktopServices.openUrl(QUrl.fromLocalFile(self._home))
