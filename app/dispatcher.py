"""Starts, follows and stops runs for the window.

`RunManager` does the work in its own thread; this module has the timer, the user's requests and the
signals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QThread, Signal, Slot

from app import background
from app.timers import repeated
from app.trash import move_to_trash, restore_from_trash
from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.files.home import Home
from engine.record.opening import Record
from engine.record.run_manager import RunManager
from engine.record.run_watch import RunUpdate, Trashed
from engine.record.workers import QueueRunner
from engine.runs.folder import RunFolder
from engine.system.errors import explain_error

BUSY_REFRESH_MS, IDLE_REFRESH_MS = 250, 4_000  # with unfinished runs, and without


class Dispatcher(QObject):
    """The runs of one home.

    Signals:
        run_added, run_changed, run_removed: the id of a run.
        measured: id of a run, its new points (list of `Measured`).
        noted: id of a run or “”, a notice for the user.
        refused: id of a run or “”, the StudioError that says why a request failed.
        copying: a folder being copied in, bytes done, bytes in total (0: unknown).
        copied: a folder whose copy has ended, and the id of its run (“”: cancelled or failed).
        trashed: a tuple of `Trashed`, removed runs that can be restored.
        ended: a `RunEnd`: a run has lost its worker.
        settled: after the start, every run is up to date.
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

    _requested = Signal(object)  # a _Request, for the manager's thread

    def __init__(self, record: Record, home: Home, runner: QueueRunner | None = None) -> None:
        """Correct the state of runs without a worker; `begin` does the rest.

        `runner` continues the queue after the window has closed; None: the queue waits.
        """
        super().__init__()
        self._manager = RunManager(record, home, runner)
        self._manager.watch.correct_stale()
        self._is_refreshing = self._refresh_again = False
        self._copies: dict[Path, background.Job] = {}
        self._last_error = ""  # of a refresh; reported once
        self._thread = QThread(self)
        self._runner = _RequestRunner()
        self._runner.moveToThread(self._thread)
        self._requested.connect(self._runner.run)
        self._runner.done.connect(self._on_done)
        self._timer = repeated(self, BUSY_REFRESH_MS, self._on_tick)

    def begin(self) -> None:
        """Bring every run up to date, then refresh periodically."""
        self._thread.start()
        self._timer.start()
        self._is_refreshing = True
        self._requested.emit(_Request(self._manager.settle, is_settling=True, is_refresh=True))

    def close(self) -> None:
        """Finish pending requests. Workers go on training, and the runner continues the queue."""
        self._timer.stop()
        if self._thread.isRunning():
            self._requested.emit(_Request(self._end_thread))
            self._thread.wait()
        # pending events refer to this object and must not outlive it
        QCoreApplication.removePostedEvents(self._runner)
        self._manager.detach()

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    def start(self, job: JobSpec) -> str:
        """Queue a job; returns the id of its first run. Raises StudioError."""
        ids = self._manager.add(job)
        for run_id in ids:
            self.run_added.emit(run_id)
        self.refresh()
        return ids[0]

    def stand_by(self) -> None:
        """Keep a spare worker with torch loaded, to start the next run quickly."""
        self._request("", self._manager.keep_standby)

    def stand_down(self) -> None:
        """Stop the spare worker."""
        self._request("", self._manager.end_standby)

    def stop(self, run_id: str) -> None:
        """Ask a run to save and stop."""
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
        self._request("", lambda: self._manager.order(run_ids))

    def start_after(self, run_ids: Sequence[str], before_id: str) -> None:
        """Start waiting runs only after another one has finished; “”: at any time."""
        self._request("", lambda: self._manager.start_after(run_ids, before_id))

    def force_stop(self, run_id: str) -> None:
        """Kill the worker of a run."""
        self._request(run_id, lambda: self._manager.force_stop(run_id))

    def remove(self, *run_ids: str) -> None:
        """Move run folders to the trash and unlist the runs; emits `trashed`."""
        self._request("", lambda: self._manager.remove(run_ids, _trash))

    def restore(self, trashed: Sequence[Trashed]) -> None:
        def work() -> list[RunUpdate]:
            for run in trashed:
                restore_from_trash(run.trash_path, run.folder)
            return self._manager.restore(trashed)

        self._request("", work)

    def adopt(self, folder: Path) -> None:
        """Copy in a run that was trained elsewhere, and list it."""

        def failed(error: BaseException) -> None:
            self._end_copy(folder)
            self._refuse("", error)

        def copied(result: RunFolder) -> None:
            self._request("", lambda: self._manager.adopt(result))
            self._end_copy(folder, result.path.name)

        def work(progress: background.Progress) -> RunFolder:
            return self._manager.copy(folder, progress, progress.cancelled)

        def report(done: int, total: int) -> None:
            self.copying.emit(folder, done, total)

        if folder not in self._copies:
            self._copies[folder] = background.run(self, work, copied, failed, progress=report)
            report(0, 0)

    def cancel_copies(self) -> None:
        for folder in list(self._copies):
            self._end_copy(folder)

    def _end_copy(self, folder: Path, run_id: str = "") -> None:
        self._copies.pop(folder).cancel()
        self.copied.emit(folder, run_id)

    def branch(self, run_id: str, step: int, job: JobSpec, then: Callable[[str], object]) -> None:
        """Start a run from a checkpoint of another one; `then` gets its id."""

        def copied(folder: RunFolder) -> None:
            self._request("", lambda: self._manager.adopt(folder, queued=True))
            then(folder.path.name)

        background.run(
            self,
            lambda: self._manager.branch(run_id, step, job),
            copied,
            lambda error: self._refuse(run_id, error),
        )

    def refresh(self) -> None:
        """Refresh all runs; during a refresh, do it once more afterwards."""
        self._refresh_again = self._is_refreshing
        if not self._is_refreshing:
            self._is_refreshing = True
            idle = not self._manager.is_busy
            self._requested.emit(
                _Request(lambda: self._manager.refresh(everything=idle), is_refresh=True)
            )

    def _request(self, run_id: str, work: Callable[[], list[RunUpdate]]) -> None:
        self._requested.emit(_Request(work, run_id))

    def _end_thread(self) -> list[RunUpdate]:
        self._thread.quit()
        return []

    # ── results ──────────────────────────────────────────────────────────────────────────────

    def _on_tick(self) -> None:
        if not self._is_refreshing:
            self.refresh()

    def _on_done(self, request: "_Request") -> None:
        for signal, values in request.updates:
            getattr(self, signal).emit(*values)
        error = request.error
        text = repr(error) if error is not None else ""
        is_new = text != self._last_error
        if request.is_refresh:
            self._last_error = text
            self._finish_refresh(request)
        else:
            self.refresh()
        if error is not None and (is_new or not request.is_refresh):
            self._refuse(request.run_id, error)

    def _refuse(self, run_id: str, error: BaseException) -> None:
        if not isinstance(error, StudioError):
            raise error
        self.refused.emit(run_id, error)

    def _finish_refresh(self, request: "_Request") -> None:
        self._is_refreshing = False
        if request.is_settling:
            self.settled.emit()
        self._timer.setInterval(BUSY_REFRESH_MS if self._manager.is_busy else IDLE_REFRESH_MS)
        if self._refresh_again or (self._manager.watch.is_behind and request.error is None):
            self.refresh()


@dataclass
class _Request:
    work: Callable[[], list[RunUpdate]]
    run_id: str = ""
    is_refresh: bool = False
    is_settling: bool = False
    updates: list[RunUpdate] = field(default_factory=list)
    error: Exception | None = None


class _RequestRunner(QObject):
    """Lives in the manager's thread and runs its requests one by one."""

    done = Signal(object)

    @Slot(object)
    def run(self, request: _Request) -> None:
        try:
            request.updates = request.work()
        except Exception as error:  # noqa: BLE001 - reported or raised in the GUI thread
            request.error = explain_error(error) or error
        self.done.emit(request)


def _trash(folder: Path) -> Path | None:
    """Move a folder to the trash and return its path there; None if this disk has no trash."""
    try:
        return move_to_trash(folder)
    except StudioError:
        return None
