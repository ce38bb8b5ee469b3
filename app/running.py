"""Unfinished runs and their progress, for all parts of the window."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app import background
from app.dispatcher import Dispatcher
from app.timers import debounced
from engine.record.checkpoints import all_checkpoints
from engine.record.opening import Record
from engine.record.runs import WAITING, WORKING, Run, runs_in

REFRESH_DELAY_MS = 300  # changes within it are read together


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """Progress of a run at one moment; status bar, table and run page all show this."""

    state: str
    step: int
    steps: int  # 0: unknown
    stage: str = ""  # activity other than training, such as an evaluation
    stage_done: int = 0
    stage_total: int = 0  # 0: unknown
    seconds_left: float | None = None  # None: unknown, or not running

    @classmethod
    def from_record(cls, run: Run) -> "RunProgress":
        """Progress of a recorded run."""
        return cls(
            state=run.state,
            step=run.step,
            steps=run.steps,
            stage=run.stage if run.state in WORKING else "",
            stage_done=run.stage_done,
            stage_total=run.stage_total,
            seconds_left=run.seconds_left(),
        )

    @property
    def is_working(self) -> bool:
        """True if the run has a worker; otherwise it is waiting or has ended."""
        return self.state in WORKING

    @property
    def fraction(self) -> float:
        """Fraction done, 0 to 1."""
        return min(1.0, self.step / self.steps) if self.steps else 0.0


@dataclass(frozen=True, kw_only=True)
class RunningRun(RunProgress):
    """An unfinished run."""

    id: str
    name: str


class Running(QObject):
    """The unfinished runs, read off the GUI thread.

    Signals:
        changed: list of RunningRun, oldest first.
        saved: a run added or removed a checkpoint.
    """

    changed = Signal(list)
    saved = Signal()

    def __init__(self, record: Record, dispatcher: Dispatcher, parent: QObject) -> None:
        super().__init__(parent)
        self.runs: list[RunningRun] = []
        self._record = record
        self._checkpoints: frozenset[str] | None = None
        self._reading: background.Job | None = None
        self._is_closed = False
        self._delay = debounced(self, REFRESH_DELAY_MS, self._read)
        for signal in (dispatcher.run_added, dispatcher.run_changed, dispatcher.run_removed):
            signal.connect(self._on_changed)

    def refresh(self) -> None:
        """Read soon."""
        self._on_changed()

    def close(self) -> None:
        """Stop reading: the record is about to be closed."""
        self._is_closed = True
        self._delay.stop()
        if self._reading is not None:
            self._reading.cancel()

    def _on_changed(self, _run: str = "") -> None:
        if not self._delay.isActive() and not self._is_closed:
            self._delay.start()

    def _read(self) -> None:
        if self._reading is not None and not self._reading.is_finished():
            self._delay.start()
            return
        self._reading = background.run(self, self._read_runs, self._on_read)

    def _read_runs(self) -> tuple[list[RunningRun], frozenset[str]]:
        with self._record.read() as session:
            runs = [
                RunningRun(**vars(RunProgress.from_record(run)), id=run.id, name=run.name)
                for run in runs_in(session, (*WAITING, *WORKING))
            ]
            saved = frozenset(f"{c.folder} {c.best}" for c in all_checkpoints(session) if c.run_id)
        return runs, saved

    def _on_read(self, result: tuple[list[RunningRun], frozenset[str]]) -> None:
        runs, checkpoints = result
        if runs != self.runs:
            self.runs = runs
            self.changed.emit(runs)
        if self._checkpoints is not None and checkpoints != self._checkpoints:
            self.saved.emit()
        self._checkpoints = checkpoints
