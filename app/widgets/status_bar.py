"""The status bar of the window: running jobs, the explorer, and the device."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QProgressBar, QPushButton

from app.notices import shorten
from app.theme import SPACE, px
from app.timers import debounced
from app.widgets import buttons, layouts
from app.widgets.page import Picture
from app.widgets.text.labels import Text, plain_menu_text

NAMED_RUNS = 2  # runs shown by name; the others are counted
MAX_NAME_CHARACTERS = 32
BLINK_MS = 400


@dataclass(frozen=True)
class Activity:
    """One run in the bar; `fraction` is the part done, -1 if unknown."""

    run: str
    name: str
    text: str
    fraction: float


class StatusBar(QFrame):
    """Unfinished runs, activity of Explore, and the device, on one line.

    Signals:
        run_requested: id of a clicked run; “” for all of them.
    """

    run_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("look", "strip")
        self.setFixedHeight(px(36))
        self.setAccessibleName(self.tr("Status"))
        self.idle = Text(self.tr("No runs in progress"), "small", wraps=False)
        self.runs: list[tuple[QPushButton, QProgressBar]] = []
        self.explorer = Text(self.tr("Explore is computing…"), "small", wraps=False)
        self.explorer.hide()
        self._blink = debounced(self, BLINK_MS, self.explorer.show)
        self.device = Text("", "small", wraps=False)
        row = layouts.row(
            self.idle, parent=self, spacing=3 * SPACE, margins=(3 * SPACE, 0, 4 * SPACE, 0)
        )
        for _ in range(NAMED_RUNS):
            button = buttons.quiet(self.tr("Show the run"), icon="activity")
            bar = QProgressBar()
            bar.setTextVisible(False)
            bar.setFixedWidth(px(96))
            button.hide()
            bar.hide()
            row.addWidget(button)
            row.addWidget(bar)
            self.runs.append((button, bar))
        self.more = buttons.quiet(self.tr("All runs"), lambda: self.run_requested.emit(""))
        self.more.hide()
        row.addWidget(self.more)
        row.addStretch(1)
        row.addWidget(self.explorer)
        row.addWidget(Picture("cpu", 14))
        row.addWidget(self.device)
        for index, (button, _) in enumerate(self.runs):
            button.clicked.connect(lambda _=False, index=index: self._on_run(index))
        self._shown: list[Activity] = []

    def show_runs(self, activities: Sequence[Activity]) -> None:
        """Name the first runs and count the others."""
        self._shown = list(activities)
        self.idle.setVisible(not activities)
        for index, (button, bar) in enumerate(self.runs):
            is_used = index < len(activities)
            button.setVisible(is_used)
            bar.setVisible(is_used and activities[index].fraction >= 0)
            if is_used:
                activity = activities[index]
                name = activity.name
                short_name = shorten(name, MAX_NAME_CHARACTERS)
                button.setText(plain_menu_text(f"{short_name} · {activity.text}"))
                button.setAccessibleName(f"{name}: {activity.text}")
                bar.setAccessibleName(self.tr("Progress of {0}").format(name))
                bar.setRange(0, 1000)
                bar.setValue(round(max(activity.fraction, 0) * 1000))
        rest = len(activities) - NAMED_RUNS
        self.more.setVisible(rest > 0)
        self.more.setText(self.tr("and %Ln more", "", rest))

    def show_explorer(self, busy: bool) -> None:
        """Show work that takes longer than a blink."""
        if busy:
            self._blink.start()
        else:
            self._blink.stop()
            self.explorer.hide()

    def show_device(self, text: str) -> None:
        self.device.setText(text)

    def _on_run(self, index: int) -> None:
        if index < len(self._shown):
            self.run_requested.emit(self._shown[index].run)
