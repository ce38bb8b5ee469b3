"""Run a function off the window's thread, and get its result or its error on it.

    job = background.run(self, lambda: read(path), self._on_read)
    job = background.run(self, work, self._on_done, progress=self._on_progress)   # work(progress)

The result comes on the window's thread, and only while `owner` exists and the job is not cancelled.
An error without `failed` goes to `sys.excepthook`, where `app.notices` shows it: a StudioError in
its own words, anything else as a mistake of the studio.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, overload

import shiboken6
from PySide6.QtCore import QObject, QRunnable, Qt, QThreadPool, Signal

T = TypeVar("T")

PAUSE = 0.05  # s between two reports of progress


class Progress:
    """What a long work reports to and asks; called in the work's thread.

    `progress(done, total)` reports; the last report and a pause of 50 ms between two are kept.
    `progress.cancelled()` says that the result is no longer wanted.
    """

    def __init__(self, report: Callable[[int, int], None], cancelled: threading.Event) -> None:
        self._report, self._cancelled = report, cancelled
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= PAUSE or done == total:
            self._last = now
            self._report(done, total)

    def cancelled(self) -> bool:
        return self._cancelled.is_set()


class Job(QObject):
    """One work under way, for whoever wants to cancel it."""

    _reported = Signal(int, int)
    _ended = Signal(object, object)  # result, error

    def __init__(
        self,
        owner: QObject,
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None] | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        super().__init__()
        self._owner, self._done, self._failed, self._progress = owner, done, failed, progress
        self._cancelled = threading.Event()
        self._finished = threading.Event()
        self._reported.connect(self._on_reported, Qt.ConnectionType.QueuedConnection)
        self._ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)

    def cancel(self) -> None:
        """Drop the result, and tell the work, which looks at `Progress.cancelled`."""
        self._cancelled.set()

    def is_over(self) -> bool:
        """Whether the work itself has ended, wanted or not."""
        return self._finished.is_set()

    def _is_wanted(self) -> bool:
        return not self._cancelled.is_set() and shiboken6.isValid(self._owner)

    def _on_reported(self, done: int, total: int) -> None:
        if self._progress is not None and self._is_wanted():
            self._progress(done, total)

    def _on_ended(self, result: object, error: BaseException | None) -> None:
        _running.discard(self)
        self.deleteLater()
        if not self._is_wanted():
            return
        if error is None:
            self._done(result)
        elif self._failed is not None:
            self._failed(error)
        else:
            sys.excepthook(type(error), error, error.__traceback__)


class _Work(QRunnable):
    def __init__(self, job: Job, work: Callable[..., Any], takes_progress: bool) -> None:
        super().__init__()
        self._job, self._work, self._takes_progress = job, work, takes_progress

    def run(self) -> None:
        result: object = None
        error: BaseException | None = None
        try:
            if self._job._cancelled.is_set():
                pass
            elif self._takes_progress:
                result = self._work(Progress(self._job._reported.emit, self._job._cancelled))
            else:
                result = self._work()
        except BaseException as caught:  # noqa: BLE001  # a thread's edge; Rust raises such too
            error = caught
        self._job._finished.set()
        self._job._ended.emit(result, error)


_running: set[Job] = set()  # a job lives until its end has been told on the window's thread


@overload
def run(
    owner: QObject,
    work: Callable[[], T],
    done: Callable[[T], None],
    failed: Callable[[BaseException], None] | None = None,
) -> Job: ...


@overload
def run(
    owner: QObject,
    work: Callable[[Progress], T],
    done: Callable[[T], None],
    failed: Callable[[BaseException], None] | None = None,
    *,
    progress: Callable[[int, int], None],
) -> Job: ...


def run(
    owner: QObject,
    work: Callable[..., T],
    done: Callable[[T], None],
    failed: Callable[[BaseException], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Job:
    """Start `work` in the thread pool. Call it from the window's thread.

    With `progress`, work is called with a `Progress`; without, with nothing.
    """
    job = Job(owner, done, failed, progress)
    _running.add(job)
    QThreadPool.globalInstance().start(_Work(job, work, progress is not None))
    return job


def finish(seconds: float = 5.0) -> bool:
    """At the end of the program: cancel all that runs, and wait; whether it ended in time."""
    for job in _running:
        job.cancel()
    return QThreadPool.globalInstance().waitForDone(int(seconds * 1000))
