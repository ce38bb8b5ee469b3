"""State of the Home page: recent runs and the machine."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app import background
from app.machine import look_at_machine
from app.studio import Studio
from app.timers import debounced, repeated
from engine.files.shipped import minilm, sample_data
from engine.record.metrics import sparkline
from engine.record.runs import Run, all_runs

RECENT = 5
REFRESH_DELAY_MS = 1000  # ms over which changes are collected
AGAIN = 10_000  # ms between two readings of memory and disk


@dataclass(frozen=True)
class RecentRun:
    """A run, detached from the record, and some of its losses."""

    run: Run
    losses: tuple[float, ...]


class HomeState(QObject):
    """Reads outside the GUI thread, and only while `watch` is on.

    Signals:
        runs_changed: list of RecentRun, newest first, and the total number of runs.
        machine_seen: a Machine.
    """

    runs_changed = Signal(list, int)
    machine_seen = Signal(object)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._reading = background.Latest(self)
        self._pause = debounced(self, REFRESH_DELAY_MS, self.read_runs)
        self._clock = repeated(self, AGAIN, self.look_at_machine)
        dispatcher = studio.dispatcher
        for signal in (dispatcher.run_added, dispatcher.run_changed, dispatcher.run_removed):
            signal.connect(self._on_changed)

    def watch(self, watched: bool) -> None:
        """Start or stop following changes."""
        if watched:
            self.read_runs()
            self.look_at_machine()
            self._clock.start()
        else:
            self._clock.stop()
            self._pause.stop()

    def has_first_steps(self) -> bool:
        """True if MiniLM and the sample data are included."""
        return minilm().is_dir() and sample_data().is_file()

    def read_runs(self) -> None:
        if self._reading.is_busy:
            self._pause.start()
        else:
            self._reading.run(self._look_up, lambda read: self.runs_changed.emit(*read))

    def look_at_machine(self) -> None:
        root = self._studio.home.root
        background.run(self, lambda: look_at_machine(root), self.machine_seen.emit)

    def _on_changed(self, _run: str) -> None:
        if self._clock.isActive() and not self._pause.isActive():
            self._pause.start()

    def _look_up(self) -> tuple[list[RecentRun], int]:
        with self._studio.record.read() as session:
            runs = all_runs(session)
            recent = [
                RecentRun(run, tuple(sparkline(session, run.id, "loss"))) for run in runs[:RECENT]
            ]
        return recent, len(runs)
