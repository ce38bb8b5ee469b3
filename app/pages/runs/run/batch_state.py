"""The batch of a step of the run, asked of the explorer while somebody looks. No widgets."""

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.runs.run.state import RunState
from app.timers import debounced
from engine.messages.batch import BatchShown, ShowBatch
from engine.messages.question import Answer, Refused, Working

FOLLOW_MS = 2000  # between two batches of a run that is followed


class BatchState(QObject):
    """Signals:
    changed: `shown`, `refusal`, `working`, `is_waiting` or `follows` is another now.
    """

    changed = Signal()

    def __init__(self, run: RunState, explorer: Explorer) -> None:
        super().__init__(run)
        self.shown: BatchShown | None = None
        self.refusal: Refused | None = None
        self.working: Working | None = None
        self.is_waiting = False
        self.follows = True
        self._run, self._explorer = run, explorer
        self._is_seen = False
        self._asked = 0  # the number of the newest question
        self._step = 0  # that was asked for last
        self._pause = debounced(self, FOLLOW_MS, self._follow)
        run.changed.connect(self._on_run)
        explorer.answered.connect(self._on_answer)

    def set_seen(self, seen: bool) -> None:
        """Whether the batch is on the screen; nothing is asked while it is not."""
        self._is_seen = seen
        self._follow()

    def show_step(self, step: int) -> None:
        """Show this step, and follow the run no more."""
        self.follows = False
        self._ask(step)

    def set_follows(self, follows: bool) -> None:
        """Show the present step again and again, or stay at this one."""
        self.follows = follows
        self.changed.emit()
        self._follow()

    def _follow(self) -> None:
        row = self._run.row
        if not self._is_seen or self.is_waiting or row is None or self._pause.isActive():
            return
        step = max(1, row.step) if self.follows else self._step
        if step != self._step or (self.shown is None and self.refusal is None):
            self._ask(max(1, step))

    def _on_run(self) -> None:
        if self.follows:
            self._follow()

    def _ask(self, step: int) -> None:
        row = self._run.row
        if row is None:
            return
        self._step, self.is_waiting, self.working = step, True, None
        self._asked = self._explorer.ask(ShowBatch(run=row.folder, step=step))
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._asked or not self.is_waiting:
            return
        if isinstance(answer, Working):
            self.working = answer
            self.changed.emit()
            return
        self.is_waiting, self.working = False, None
        self.shown = answer if isinstance(answer, BatchShown) else None
        self.refusal = answer if isinstance(answer, Refused) else None
        self._pause.start()
        self.changed.emit()
