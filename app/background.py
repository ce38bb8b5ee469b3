"""Run a function in a thread pool; its result or error is delivered in the GUI thread.

    job = background.run(self, lambda: read(path), self._on_read)
    job = background.run(self, work, self._on_done, progress=self._on_progress)   # work(progress)

The result arrives only while `owner` exists and unless the job is cancelled; a cancelled `work` may
raise Cancelled. System errors, such as a missing file, arrive as a StudioError. Without
`on_failed`, errors go to `sys.excepthook`, where `app.notices` shows them.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import shiboken6
from PySide6.QtCore import QObject, Qt, QThreadPool, Signal

from engine.errors import StudioError
from engine.system.errors import explain_error

T = TypeVar("T")

MIN_THREADS = 8  # some may hang on an unreachable drive
PROGRESS_INTERVAL = 0.05  # seconds between progress reports
# seconds until a thread yields the interpreter lock to the GUI thread; Python's default is 0.005
SWITCH_INTERVAL = 0.0005


class Progress:
    """Progress and cancellation of a background job, for use in the job's thread.

    `progress(done, total)` reports at most every 50 ms, and always when done.
    `progress.cancelled()` is True once the result is no longer needed.
    """

    def __init__(self, report: Callable[[int, int], None], cancelled: threading.Event) -> None:
        self._report, self._cancelled = report, cancelled
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= PROGRESS_INTERVAL or done == total:
            self._last = now
            self._report(done, total)

    def cancelled(self) -> bool:
        return self._cancelled.is_set()


class Job:
    """A background job that can be cancelled."""

    def __init__(
        self,
        owner: QObject,
        on_done: Callable[[Any], None],
        on_failed: Callable[[BaseException], None] | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._owner, self._progress = owner, progress
        self._on_done, self._on_failed = on_done, on_failed
        self._cancelled = threading.Event()
        self._finished = threading.Event()
        self.is_pending = True  # not delivered yet, and not cancelled

    def cancel(self) -> None:
        """Drop the result and make `Progress.cancelled` return True."""
        self.is_pending = False
        self._cancelled.set()

    def is_finished(self) -> bool:
        return self._finished.is_set()

    def run(self, function: Callable[..., Any], invoker: "_Invoker") -> None:
        """Run the function; called in a thread of the pool."""
        result: object = None
        error: BaseException | None = None
        try:
            if self._cancelled.is_set():
                pass
            elif self._progress is not None:

                def report(done: int, total: int) -> None:
                    invoker.called.emit(partial(self._report, done, total))

                result = function(Progress(report, self._cancelled))
            else:
                result = function()
        except BaseException as caught:  # noqa: BLE001  # outermost handler; Rust panics derive from it
            error = explain_error(caught) or caught
        self._finished.set()
        invoker.called.emit(partial(self._end, invoker, result, error))

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None and self._is_deliverable():
            self._progress(done, total)

    def _end(self, invoker: "_Invoker", result: object, error: BaseException | None) -> None:
        invoker.jobs.discard(self)
        if not self._is_deliverable():
            return
        self.is_pending = False
        if error is None:
            self._on_done(result)
        elif self._on_failed is not None:
            self._on_failed(error)
        else:
            sys.excepthook(type(error), error, error.__traceback__)

    def _is_deliverable(self) -> bool:
        return not self._cancelled.is_set() and shiboken6.isValid(self._owner)


class _Invoker(QObject):
    """Calls functions in the GUI thread on behalf of other threads.

    It is a singleton that is never deleted: one per job could lose its last reference in a thread
    while the event loop still held events for it.
    """

    called = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.jobs: set[Job] = set()
        self.called.connect(self._on_called, Qt.ConnectionType.QueuedConnection)

    def _on_called(self, function: Callable[[], None]) -> None:
        function()


@cache
def _invoker() -> _Invoker:
    sys.setswitchinterval(SWITCH_INTERVAL)
    pool = QThreadPool.globalInstance()
    pool.setMaxThreadCount(max(MIN_THREADS, pool.maxThreadCount()))
    return _Invoker()


def run(
    owner: QObject,
    work: Callable[..., T],
    on_done: Callable[[T], None],
    on_failed: Callable[[BaseException], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Job:
    """Start `work` in the thread pool; call this in the GUI thread.

    With `progress`, work is called with a `Progress`, otherwise without arguments.
    """
    job, invoker = Job(owner, on_done, on_failed, progress), _invoker()
    invoker.jobs.add(job)
    QThreadPool.globalInstance().start(partial(job.run, work, invoker))
    return job


class LatestJob:
    """Runs one job at a time: a new one cancels the previous one."""

    def __init__(self, owner: QObject) -> None:
        self._owner = owner
        self._job: Job | None = None

    @property
    def is_busy(self) -> bool:
        return self._job is not None and self._job.is_pending

    def run(
        self,
        work: Callable[..., T],
        on_done: Callable[[T], None],
        on_failed: Callable[[BaseException], None] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Start a job as `run` does."""
        self.cancel()
        self._job = run(self._owner, work, on_done, on_failed, progress)

    def cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()


def as_studio_error(error: BaseException) -> StudioError:
    """Return a StudioError as it is; raise any other error again."""
    if not isinstance(error, StudioError):
        raise error
    return error


def finish(seconds: float = 5.0) -> bool:
    """Cancel all jobs at exit and wait; return True if they ended in time."""
    for job in _invoker().jobs:
        job.cancel()
    return QThreadPool.globalInstance().waitForDone(int(seconds * 1000))


def ensure_exit(code: int) -> int:
    """Return the exit code, or end the process immediately if a job hangs.

    Qt would wait for its thread forever.
    """
    if QThreadPool.globalInstance().activeThreadCount():
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
