"""Starts runs, follows them, asks them to stop, and tells the window what changed.

All work is done by `RunManager` in one thread of its own; here are only the clock, the requests of
the user, and the signals.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QThread, Signal, Slot

from app import background
from app.timers import repeated
from app.trash import bring_back, move_to_trash
from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.files.home import Home
from engine.record.opening import Record
from engine.record.run_manager import RunManager
from engine.record.run_watch import RunUpdate, Trashed
from engine.record.workers import QueueRunner
from engine.runs.folder import RunFolder
from engine.system.errors import explain_error

BUSY_REFRESH_MS, IDLE_REFRESH_MS = 250, 4_000  # while a run is not finished, and else


class Dispatcher(QObject):
    """The runs of one home.

    Signals:
        run_added, run_changed, run_removed: the id of a run.
        measured: id of a run, its new points (list of `Measured`).
        noted: id of a run (or nothing), something that the user should know.
        refused: id of a run (or nothing), the StudioError that kept a request from being done.
        copying: a folder that is being copied in, bytes that are, bytes in all (0: unknown).
        copied: a folder that is copied in, or is not any more, and the id of its run (or nothing).
        trashed: the runs that were removed and can be brought back, a tuple of `Trashed`.
        ended: a `RunEnd`: a run was at work and is so no more.
        settled: after the start, every run has been caught up with.
    """

    run_added = Signal(str)
    run_changed = Signal(str)
    run_removed = Signal(str)
    measured = Signal(str, list)
    noted = Signal(str, object)
    refused = Signal(str, object)
    copying = Signal(object, object, object)
    copied = Signal(object, str)
    trashed = Signal(object)
    ended = Signal(object)
    settled = Signal()

    _requested = Signal(object)  # a _Request, for the thread of the manager

    def __init__(
        self,
        record: Record,
        home: Home,
        parent: QObject | None = None,
        runner: QueueRunner | None = None,
    ) -> None:
        """Corrects at once the runs that only seem to be alive; all else follows `begin`.

        `runner` goes on with the queue when the window is closed; None: it waits for the next one.
        """
        super().__init__(parent)
        self._manager = RunManager(record, home, runner)
        self._manager.correct_stale()
        self._is_refreshing = self._refresh_again = False
        self._copies: dict[Path, background.Job] = {}
        self._last_error = ""  # of a refresh; told once, not at each one
        self._thread = QThread(self)
        self._runner = _RequestRunner()
        self._runner.moveToThread(self._thread)
        self._requested.connect(self._runner.run)
        self._runner.done.connect(self._on_done)
        self._clock = repeated(self, BUSY_REFRESH_MS, self._on_tick)

    def begin(self) -> None:
        """Catch up with every run, then refresh them again and again."""
        self._thread.start()
        self._clock.start()
        self._is_refreshing = True
        self._requested.emit(_Request(self._manager.settle, settles=True, refreshes=True))

    def close(self) -> None:
        """Do what is still requested; workers train on, and the runner goes on with the queue."""
        self._clock.stop()
        if self._thread.isRunning():
            self._requested.emit(_Request(self._end_thread))
            self._thread.wait()
        # what is still requested refers to this object, and must not outlive it by a moment
        QCoreApplication.removePostedEvents(self._runner)
        self._manager.leave()

    # ── what the user wants ──────────────────────────────────────────────────────────────────

    def start(self, job: JobSpec) -> str:
        """Put a job in the queue and give the id of its first run. Raises StudioError."""
        ids = self._manager.add(job)
        for run_id in ids:
            self.run_added.emit(run_id)
        self.refresh()
        return ids[0]

    def stand_by(self) -> None:
        """Have a worker in reserve that has loaded torch: a run may be started soon."""
        self._request("", self._manager.stand_by)

    def stand_down(self) -> None:
        """Have none any more."""
        self._request("", self._manager.stand_down)

    def stop(self, run_id: str) -> None:
        """Ask a run to save and end."""
        self._request(run_id, lambda: self._manager.stop(run_id))

    def resume(self, run_id: str) -> None:
        """Resume a run from its last checkpoint, as soon as its device is free."""
        self._request(run_id, lambda: self._manager.resume(run_id))

    def hold(self, run_id: str) -> None:
        """Keep a queued run from starting until it is resumed."""
        self._request(run_id, lambda: self._manager.hold(run_id))

    def start_next(self, *run_ids: str) -> None:
        """Move waiting runs to the front of the queue."""
        self._request("", lambda: self._manager.start_next(run_ids))

    def order(self, run_ids: Sequence[str]) -> None:
        """Give the waiting runs this order."""
        self._request("", lambda: self._manager.order(run_ids))

    def start_after(self, run_ids: Sequence[str], before_id: str) -> None:
        """Start waiting runs only when another one has finished; “”: at any time."""
        self._request("", lambda: self._manager.start_after(run_ids, before_id))

    def force_stop(self, run_id: str) -> None:
        """Kill the worker of a run that does not stop."""
        self._request(run_id, lambda: self._manager.force_stop(run_id))

    def remove(self, *run_ids: str) -> None:
        """Move the folders of runs to the trash and forget them; `trashed` says what was moved."""
        self._request("", lambda: self._manager.remove(run_ids, _to_trash))

    def restore(self, trashed: Sequence[Trashed]) -> None:
        """Bring back runs that were removed."""

        def work() -> list[RunUpdate]:
            for gone in trashed:
                bring_back(gone.place, gone.folder)
            return self._manager.restore(trashed)

        self._request("", work)

    def adopt(self, folder: Path) -> None:
        """Copy in and list a run that was trained elsewhere; `run_added` says when."""

        def refuse(error: BaseException) -> None:
            self._end_copy(folder)
            if not isinstance(error, StudioError):
                raise error
            self.refused.emit("", error)

        def done(made: RunFolder) -> None:
            self._request("", lambda: self._manager.adopt(made))
            self._end_copy(folder, made.path.name)

        def work(progress: background.Progress) -> RunFolder:
            return self._manager.copy(folder, progress, progress.cancelled)

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
            self._request("", lambda: self._manager.adopt(folder, queued=True))
            then(folder.path.name)

        def refuse(error: BaseException) -> None:
            if not isinstance(error, StudioError):
                raise error
            self.refused.emit(run_id, error)

        background.run(self, lambda: self._manager.branch(run_id, step, job), copied, refuse)

    def refresh(self) -> None:
        """See how the runs stand now; where that is being done, once more after it."""
        self._refresh_again = self._is_refreshing
        if not self._is_refreshing:
            self._is_refreshing = True
            idle = not self._manager.is_busy
            self._requested.emit(
                _Request(lambda: self._manager.refresh(everything=idle), refreshes=True)
            )

    def _request(self, run_id: str, work: Callable[[], list[RunUpdate]]) -> None:
        self._requested.emit(_Request(work, run_id))

    def _end_thread(self) -> list[RunUpdate]:
        self._thread.quit()
        return []

    # ── what came of it ──────────────────────────────────────────────────────────────────────

    def _on_tick(self) -> None:
        if not self._is_refreshing:
            self.refresh()

    def _on_done(self, request: "_Request") -> None:
        for signal, values in request.updates:
            getattr(self, signal).emit(*values)
        error = request.error
        said = repr(error) if error is not None else ""
        is_new = said != self._last_error
        if request.refreshes:
            self._last_error = said
            self._after_refresh(request)
        else:
            self.refresh()
        if error is None or (request.refreshes and not is_new):
            return
        if not isinstance(error, StudioError):
            raise error
        self.refused.emit(request.run_id, error)

    def _after_refresh(self, request: "_Request") -> None:
        self._is_refreshing = False
        if request.settles:
            self.settled.emit()
        self._clock.setInterval(BUSY_REFRESH_MS if self._manager.is_busy else IDLE_REFRESH_MS)
        if self._refresh_again or (self._manager.is_behind and request.error is None):
            self.refresh()


class _Request:
    """Some work for the thread of the manager, and then what came of it."""

    def __init__(
        self,
        work: Callable[[], list[RunUpdate]],
        run_id: str = "",
        refreshes: bool = False,
        settles: bool = False,
    ) -> None:
        self.work, self.run_id, self.refreshes, self.settles = work, run_id, refreshes, settles
        self.updates: list[RunUpdate] = []
        self.error: Exception | None = None


class _RequestRunner(QObject):
    """Lives in the thread of the manager and does one request after another."""

    done = Signal(object)

    @Slot(object)
    def run(self, request: _Request) -> None:
        try:
            request.updates = request.work()
        except Exception as error:  # noqa: BLE001 - an edge: it is told or raised in the window's thread
            request.error = explain_error(error) or error
        self.done.emit(request)


def _to_trash(folder: Path) -> Path | None:
    """Where the folder is in the trash now; None where this disk has none."""
    try:
        return move_to_trash(folder)
    except StudioError:
        return None
