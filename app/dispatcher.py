"""Starts runs, follows them, asks them to stop, and tells the window what changed.

All work is done by `RunManager` in one thread of its own; here are only the clock, the wishes of
the user, and the signals.
"""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from app import background
from app.trash import move_to_trash
from engine.errors import StudioError
from engine.home import Home
from engine.record.opening import Record
from engine.record.run_manager import News, RunManager
from engine.runs.folder import RunFolder
from engine.spec.job import JobSpec

FAST, SLOW = 250, 10_000  # ms between two looks: while a run is not finished, and else


class Dispatcher(QObject):
    """The runs of one home.

    Signals:
        run_added, run_changed, run_removed: the id of a run.
        measured: id of a run, its new points (list of `Measured`).
        progressed: id of a run, stage, done, total (0: unknown).
        noted: id of a run (or nothing), something that the user should know.
        refused: id of a run (or nothing), the StudioError that kept a wish from being carried out.
        copying: a folder that is being copied in, bytes that are, bytes in all (0: unknown).
        copied: a folder that is copied in, or is not any more, and the id of its run (or nothing).
        settled: after the start, every run has been caught up with.
    """

    run_added = Signal(str)
    run_changed = Signal(str)
    run_removed = Signal(str)
    measured = Signal(str, list)
    progressed = Signal(str, str, int, int)
    noted = Signal(str, str)
    refused = Signal(str, object)
    copying = Signal(object, object, object)
    copied = Signal(object, str)
    settled = Signal()

    _wanted = Signal(object)  # a _Wish, for the hands

    def __init__(self, record: Record, home: Home, parent: QObject | None = None) -> None:
        """Corrects at once the runs that only seem to be alive; all else follows `begin`."""
        super().__init__(parent)
        self._steering = RunManager(record, home)
        self._steering.first_look()
        self._is_looking = self._look_again = False
        self._copies: dict[Path, background.Job] = {}
        self._complaint = ""  # what kept the last look from its end; told once, not at each look
        self._thread = QThread(self)
        self._hands = _Hands()
        self._hands.moveToThread(self._thread)
        self._wanted.connect(self._hands.carry_out)
        self._hands.done.connect(self._on_done)
        self._clock = QTimer(self, interval=FAST)
        self._clock.timeout.connect(self._on_tick)

    def begin(self) -> None:
        """Catch up with every run, then look at them again and again."""
        self._thread.start()
        self._clock.start()
        self._is_looking = True
        self._wanted.emit(_Wish(self._steering.settle, settles=True, looks=True))

    def close(self) -> None:
        """Carry out what is still wished; workers train on, the queue waits for the next start."""
        self._clock.stop()
        if self._thread.isRunning():
            self._wanted.emit(_Wish(self._end_thread))
            self._thread.wait()
        self._steering.leave()

    # ── what the user wants ──────────────────────────────────────────────────────────────────

    def start(self, job: JobSpec) -> str:
        """Put a job in the queue and give the id of its first run. Raises StudioError."""
        ids = self._steering.add(job)
        for run_id in ids:
            self.run_added.emit(run_id)
        self.look()
        return ids[0]

    def stand_by(self) -> None:
        """Have a worker at hand that has loaded torch: a run may be started soon."""
        self._want("", self._steering.stand_by)

    def stand_down(self) -> None:
        """Have none any more."""
        self._want("", self._steering.stand_down)

    def stop(self, run_id: str) -> None:
        """Ask a run to save and end."""
        self._want(run_id, lambda: self._steering.stop(run_id))

    def resume(self, run_id: str) -> None:
        """Let a run go on from its last checkpoint, as soon as its device is free."""
        self._want(run_id, lambda: self._steering.resume(run_id))

    def end_now(self, run_id: str) -> None:
        """Kill the worker of a run that does not stop."""
        self._want(run_id, lambda: self._steering.end_now(run_id))

    def remove(self, run_id: str) -> None:
        """Move the folder of a run to the trash and forget the run."""
        self._want(run_id, lambda: self._steering.remove(run_id, _to_trash))

    def adopt(self, folder: Path) -> None:
        """Copy in and list a run that was trained elsewhere; `run_added` says when."""

        def refuse(error: BaseException) -> None:
            self._end_copy(folder)
            if not isinstance(error, StudioError):
                raise error
            self.refused.emit("", error)

        def done(made: RunFolder) -> None:
            self._want("", lambda: self._steering.adopt(made))
            self._end_copy(folder, made.path.name)

        def work(progress: background.Progress) -> RunFolder:
            return self._steering.copy(folder, progress, progress.cancelled)

        def report(bytes_: int, of: int) -> None:
            self.copying.emit(folder, bytes_, of)

        if folder not in self._copies:
            self._copies[folder] = background.run(self, work, done, refuse, progress=report)
            report(0, 0)

    def cancel_copies(self) -> None:
        """Take over none of the runs that are still being copied."""
        for folder in list(self._copies):
            self._end_copy(folder)

    def _end_copy(self, folder: Path, run_id: str = "") -> None:
        self._copies.pop(folder).cancel()
        self.copied.emit(folder, run_id)

    def branch(self, run_id: str, step: int, job: JobSpec, then: Callable[[str], object]) -> None:
        """Start a run from a checkpoint of another one; `then` hears its id."""

        def copied(folder: RunFolder) -> None:
            self._want("", lambda: self._steering.adopt(folder, queued=True))
            then(folder.path.name)

        def refuse(error: BaseException) -> None:
            if not isinstance(error, StudioError):
                raise error
            self.refused.emit(run_id, error)

        background.run(self, lambda: self._steering.branch(run_id, step, job), copied, refuse)

    def look(self) -> None:
        """See how the runs stand now; where a look is under way, once more after it."""
        self._look_again = self._is_looking
        if not self._is_looking:
            self._is_looking = True
            idle = not self._steering.is_busy
            self._wanted.emit(_Wish(lambda: self._steering.look(everything=idle), looks=True))

    def _want(self, run_id: str, work: Callable[[], list[News]]) -> None:
        self._wanted.emit(_Wish(work, run_id))

    def _end_thread(self) -> list[News]:
        self._thread.quit()
        return []

    # ── what came of it ──────────────────────────────────────────────────────────────────────

    def _on_tick(self) -> None:
        if not self._is_looking:
            self.look()

    def _on_done(self, wish: "_Wish") -> None:
        for name, values in wish.news:
            getattr(self, name).emit(*values)
        complaint = repr(wish.error) if wish.error is not None else ""
        is_new = complaint != self._complaint
        if wish.looks:
            self._complaint = complaint
            self._after_look(wish)
        else:
            self.look()
        if wish.error is None or (wish.looks and not is_new):
            return
        if not isinstance(wish.error, StudioError):
            raise wish.error
        self.refused.emit(wish.run_id, wish.error)

    def _after_look(self, wish: "_Wish") -> None:
        self._is_looking = False
        if wish.settles:
            self.settled.emit()
        self._clock.setInterval(FAST if self._steering.is_busy else SLOW)
        if self._look_again or (self._steering.is_behind and wish.error is None):
            self.look()


class _Wish:
    """Some work for the thread, and then what came of it."""

    def __init__(
        self,
        work: Callable[[], list[News]],
        run_id: str = "",
        looks: bool = False,
        settles: bool = False,
    ) -> None:
        self.work, self.run_id, self.looks, self.settles = work, run_id, looks, settles
        self.news: list[News] = []
        self.error: Exception | None = None


class _Hands(QObject):
    """Lives in the dispatcher's thread and carries out one wish after another."""

    done = Signal(object)

    @Slot(object)
    def carry_out(self, wish: _Wish) -> None:
        try:
            wish.news = wish.work()
        except Exception as error:  # noqa: BLE001 - an edge: it is told or raised in the window's thread
            wish.error = error
        self.done.emit(wish)


def _to_trash(folder: Path) -> bool:
    """Whether the folder is in the trash now; not where this disk has none."""
    try:
        move_to_trash(folder)
    except StudioError:
        return False
    return True
